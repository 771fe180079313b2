// See ab_steps.h.
#include "engine/ab_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/stop_signal.h"

namespace octet {

ArmSteps::ArmSteps(Runner& runner, int64_t prefill_chunk, std::optional<ArmFault> fault)
    : runner_(runner),
      prefill_chunk_(prefill_chunk),
      fault_(std::move(fault)),
      positions_(static_cast<size_t>(runner.capacity().slots), 0) {}

void ArmSteps::use(const Arm& arm) {
  const bool planted = fault_ && fault_->arm == arm.name;
  slow_ = planted ? fault_->slow : 0;
  runner_.use(arm.campaign, planted ? fault_->fault : std::nullopt);
  earlier_ = runner_.report().campaign;
}

CampaignCounts ArmSteps::counts() const {
  const CampaignCounts now = runner_.report().campaign;
  return {.sums = now.sums - earlier_.sums,
          .int8_sums = now.int8_sums - earlier_.int8_sums,
          .folded_posts = now.folded_posts - earlier_.folded_posts,
          .shared_mixes = now.shared_mixes - earlier_.shared_mixes};
}

TokenId ArmSteps::begin(int32_t slot, std::span<const TokenId> tokens, size_t first_row, std::vector<float>& logits) {
  require(first_row < tokens.size(), "a row whose logits are wanted");
  positions_[static_cast<size_t>(slot)] = 0;
  TokenId drawn = -1;
  for (size_t fed = 0; fed < tokens.size();) {
    const size_t count = std::min(tokens.size() - fed, static_cast<size_t>(prefill_chunk_));
    BatchPlan plan;
    append_segment(plan, slot, tokens.subspan(fed, count));
    for (size_t row = std::max(fed, first_row); row < fed + count; ++row) {
      sample_row(plan, static_cast<int64_t>(row - fed), static_cast<int64_t>(row) + 1);
    }
    const std::span<const TokenId> now = step(plan);
    if (!now.empty()) drawn = now.back();
    const Mat<const float> rows = runner_.logits();
    logits.insert(logits.end(), rows.data, rows.data + rows.size());
    fed += count;
  }
  return drawn;
}

std::span<const TokenId> ArmSteps::next(std::span<const TokenId> tokens) {
  BatchPlan plan;
  for (size_t slot = 0; slot < tokens.size(); ++slot) {
    append_segment(plan, static_cast<int32_t>(slot), tokens.subspan(slot, 1));
    sample_row(plan, static_cast<int64_t>(slot), positions_[slot]);
  }
  return step(plan);
}

void ArmSteps::append_segment(BatchPlan& plan, int32_t slot, std::span<const TokenId> tokens) {
  int64_t& position = positions_[static_cast<size_t>(slot)];
  PlanSegment segment{.slot = slot, .position = position, .tokens = {tokens.begin(), tokens.end()}, .pages = {}};
  position += static_cast<int64_t>(tokens.size());
  const RunnerCapacity capacity = runner_.capacity();
  const auto each = static_cast<int32_t>(capacity.pages / capacity.slots);
  for (int32_t page = 0; page * kPageTokens < position; ++page) segment.pages.push_back(slot * each + page);
  plan.segments.push_back(std::move(segment));
}

void ArmSteps::sample_row(BatchPlan& plan, int64_t row, int64_t position) const {
  plan.samples.push_back({.row = row, .draw = true, .params = {.temperature = 0, .position = position}});
}

std::span<const TokenId> ArmSteps::step(const BatchPlan& plan) const {
  using Clock = std::chrono::steady_clock;
  if (stop_requested()) throw Error(Code::kInterrupted, fmt::format("interrupted by {}", stop_signal()));
  const Clock::time_point start = Clock::now();
  const std::span<const TokenId> tokens = runner_.step(plan);
  if constexpr (kTestHooks) {  // on all ranks alike, as a slower kernel would be
    const auto until = Clock::now() + (Clock::now() - start) * slow_;
    while (slow_ > 0 && Clock::now() < until) {
    }
  }
  return tokens;
}

}  // namespace octet
