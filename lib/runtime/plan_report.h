// The memory plan beside what the runner really held: a planner that can be proved wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/memory_plan.h"
#include "runtime/runner.h"

namespace octet {

/// One line of the comparison: "weights", "cache", "scratch", "exchange".
struct PlanLine {
  std::string name;
  int64_t predicted = 0, actual = 0;
  /// Whether the prediction holds: exactly for weights and cache; the others are upper bounds.
  bool holds = true;
};

/// The plan of the rank that holds most beside that rank's report.
std::vector<PlanLine> compare_plan(const MemoryPlan& plan, const RunnerReport& report);

/// "memory: weights 7.4 of 7.4 MiB planned, ..." for the log.
std::string plan_comparison_text(const std::vector<PlanLine>& lines);

}  // namespace octet
