// A memory plan as a table for people and as JSON for programs, with what would fit.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/memory_plan.h"

namespace octet {

/// What fits a card, beside the plan that was asked for.
struct PlanAdvice {
  bool fits = false;
  int64_t largest_batch = 0;    ///< at the plan's context
  int64_t largest_context = 0;  ///< at the plan's batch
  struct Choice {
    int64_t context = 0, batch = 0;
  };
  std::vector<Choice> choices;  ///< for usual contexts, the largest batch; without those that do not fit
};
PlanAdvice advise(const MemoryPlanner& planner, const MemoryPlan& plan, int64_t card_bytes);

/// Lines "context 262,144 fits with --max-batch 6".
std::vector<std::string> advice_lines(const MemoryPlan& plan, const PlanAdvice& advice);

/// `source` says what the sizes were read from.
std::string plan_text(const MemoryPlan& plan, const PlanAdvice& advice, int64_t card_bytes, const std::string& source);
Json plan_json(const MemoryPlan& plan, const PlanAdvice& advice, int64_t card_bytes, const std::string& source);

/// 262144 as "262,144".
std::string grouped(int64_t number);

}  // namespace octet
