// The contract of model/batch.h, checked at every step before anything runs.
#include <fmt/core.h>

#include <set>

#include "base/error.h"
#include "runtime/runner_impl.h"

namespace octet {

void check_plan(const BatchPlan& plan, const ModelConfig& config, const RunnerCapacity& capacity) {
  const auto is_slot = [&](int32_t slot) { return slot >= 0 && slot < capacity.slots; };
  const auto is_page = [&](int32_t page) { return page >= 0 && page < capacity.pages; };
  for (const PlanFork& f : plan.forks) {
    require(is_slot(f.from_slot) && is_slot(f.to_slot) && f.from_slot != f.to_slot,
            fmt::format("plan: a fork from slot {} to {} of {}", f.from_slot, f.to_slot, capacity.slots));
    require(!f.page || (is_page(f.page->first) && is_page(f.page->second)), "plan: a fork of a page that is not there");
  }
  std::set<int32_t> slots;
  for (const PlanSegment& s : plan.segments) {
    const auto end = s.position + static_cast<int64_t>(s.tokens.size());
    require(!s.tokens.empty(), "plan: an empty segment");
    require(is_slot(s.slot), fmt::format("plan: slot {} of {}", s.slot, capacity.slots));
    require(slots.insert(s.slot).second, fmt::format("plan: slot {} appears twice", s.slot));
    require(end <= capacity.max_seq_len, fmt::format("plan: position {} of {}", end, capacity.max_seq_len));
    require(static_cast<int64_t>(s.pages.size()) * kPageTokens >= end,
            fmt::format("plan: {} pages for {} tokens", s.pages.size(), end));
    for (const int32_t page : s.pages) {
      require(is_page(page), fmt::format("plan: page {} of {}", page, capacity.pages));
    }
    for (const TokenId token : s.tokens) {
      require(token >= 0 && token < config.vocab_size,
              fmt::format("plan: token {} of a vocabulary of {}", token, config.vocab_size));
    }
  }
  for (const PlanSample& s : plan.samples) {
    require(s.row >= 0 && s.row < plan.tokens(), fmt::format("plan: sample of row {} of {}", s.row, plan.tokens()));
  }
}

}  // namespace octet
