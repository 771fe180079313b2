// A Runner without a model: its logits are a fixed function of the tokens a sequence was fed, and it refuses every plan
// that breaks the contract of model/batch.h. What the engine makes of a batch must not show in its answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/error.h"
#include "runtime/runner.h"

namespace octet::test {

class FakeRunner : public Runner {
 public:
  FakeRunner(const RunnerCapacity& capacity, int64_t vocab_size)
      : capacity_(capacity),
        vocab_size_(vocab_size),
        slots_(static_cast<size_t>(capacity.slots)),
        contents_(static_cast<size_t>(capacity.pages)) {}

  std::span<const TokenId> step(const BatchPlan& plan) override {
    require(!plan.segments.empty(), "an empty plan");
    for (const PlanFork& f : plan.forks) fork(f);
    std::set<int32_t> seen;
    std::vector<uint64_t> rows;  // what each row of the step has read
    for (const PlanSegment& segment : plan.segments) {
      require(seen.insert(segment.slot).second, "two segments of one slot");
      feed(segment, rows);
    }
    steps_.push_back(plan);
    return draw(plan, rows);
  }
  Mat<const float> logits() const override {
    return {logits_.data(), static_cast<int64_t>(logits_.size()) / vocab_size_, vocab_size_};
  }
  void use(const CampaignOptions&, const std::optional<TestFault>&) override {}
  std::string check() override { return ""; }
  RunnerReport report() const override { return {}; }
  RunnerCapacity capacity() const override { return capacity_; }

  /// Every plan so far.
  const std::vector<BatchPlan>& steps() const { return steps_; }

  /// The logits after these tokens, from nothing but them.
  static std::vector<float> logits_after(std::span<const TokenId> tokens, int64_t vocab_size) {
    uint64_t history = 0;
    for (const TokenId t : tokens) history = extend(history, t);
    return logits_of(history, vocab_size);
  }

 private:
  struct Slot {
    uint64_t history = 0;
    int64_t length = 0;
    std::vector<int32_t> pages;
    std::vector<uint64_t> written;  ///< what each page of the table must hold
  };

  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  static uint64_t extend(uint64_t history, TokenId token) {
    return mix(history * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(token) + 1);
  }
  static float unit(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }
  static std::vector<float> logits_of(uint64_t history, int64_t vocab_size) {
    std::vector<float> row(static_cast<size_t>(vocab_size));
    for (size_t v = 0; v < row.size(); ++v) row[v] = unit(mix(history + 0x51ed270b * (v + 1)));
    return row;
  }

  void fork(const PlanFork& fork) {
    const Slot from = slots_.at(static_cast<size_t>(fork.from_slot));
    Slot& to = slots_.at(static_cast<size_t>(fork.to_slot));
    to = from;
    const auto full = static_cast<size_t>(from.length / kPageTokens);
    to.pages.resize(full);
    require(fork.page.has_value() == (from.length % kPageTokens != 0),
            "a page is copied that is whole, or is not there");
    if (!fork.page) return;
    require(fork.page->first == from.pages.at(full), "a page is copied that is not the prefix's last");
    to.pages.push_back(fork.page->second);
    contents_.at(static_cast<size_t>(fork.page->second)) = contents_.at(static_cast<size_t>(fork.page->first));
  }

  void feed(const PlanSegment& segment, std::vector<uint64_t>& rows) {
    require(segment.slot >= 0 && segment.slot < capacity_.slots, "a slot out of range");
    require(!segment.tokens.empty(), "a segment without tokens");
    Slot& slot = slots_[static_cast<size_t>(segment.slot)];
    if (segment.position == 0) slot = Slot{.pages = {}, .written = {}};
    require(segment.position == slot.length, "positions that do not follow the last ones of the slot");
    take_pages(segment, slot);
    for (const TokenId token : segment.tokens) {
      require(token >= 0 && token < vocab_size_, "a token outside the vocabulary");
      slot.history = extend(slot.history, token);
      rows.push_back(slot.history);
      write(slot, token);
    }
    require(slot.length <= capacity_.max_seq_len, "a sequence longer than max_seq_len");
  }

  /// A page that someone else wrote to no longer holds what this sequence put there.
  void take_pages(const PlanSegment& segment, Slot& slot) {
    const int64_t end = slot.length + static_cast<int64_t>(segment.tokens.size());
    require(static_cast<int64_t>(segment.pages.size()) * kPageTokens >= end, "pages do not cover the tokens");
    require(segment.pages.size() >= slot.pages.size() &&
                std::equal(slot.pages.begin(), slot.pages.end(), segment.pages.begin()),
            "a sequence's page table has changed");
    for (size_t i = 0; i < slot.written.size(); ++i) {
      require(contents_.at(static_cast<size_t>(segment.pages[i])) == slot.written[i], "a page in use was written to");
    }
    slot.pages = segment.pages;
  }

  void write(Slot& slot, TokenId token) {
    const auto page = static_cast<size_t>(slot.length / kPageTokens);
    if (slot.length % kPageTokens == 0) slot.written.push_back(0);
    slot.written.back() = extend(slot.written.back(), token);
    contents_.at(static_cast<size_t>(slot.pages.at(page))) = slot.written.back();
    ++slot.length;
  }

  std::span<const TokenId> draw(const BatchPlan& plan, const std::vector<uint64_t>& rows) {
    tokens_.clear();
    logits_.clear();
    int64_t last_row = -1;
    for (const PlanSample& sample : plan.samples) {
      require(sample.row > last_row && sample.row < static_cast<int64_t>(rows.size()), "a sampled row out of order");
      last_row = sample.row;
      const std::vector<float> row = logits_of(rows[static_cast<size_t>(sample.row)], vocab_size_);
      logits_.insert(logits_.end(), row.begin(), row.end());
      std::vector<float> score = row;
      const uint64_t noise = mix(sample.params.seed) + mix(static_cast<uint64_t>(sample.params.position));
      for (size_t v = 0; v < score.size(); ++v) score[v] += sample.params.temperature * unit(mix(noise + v));
      const auto best = std::max_element(score.begin(), score.end()) - score.begin();
      tokens_.push_back(sample.draw ? static_cast<TokenId>(best) : -1);
    }
    return tokens_;
  }

  RunnerCapacity capacity_;
  int64_t vocab_size_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> contents_;  ///< of each page: a hash of its tokens in order
  std::vector<BatchPlan> steps_;
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
};

}  // namespace octet::test
