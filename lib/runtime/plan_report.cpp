// See plan_report.h.
#include "runtime/plan_report.h"

#include <fmt/core.h>

namespace octet {

std::vector<PlanLine> compare_plan(const MemoryPlan& plan, const RunnerReport& report) {
  return {{"weights", plan.weight_bytes, report.weight_bytes, plan.weight_bytes == report.weight_bytes},
          {"cache", plan.cache_bytes, report.cache_bytes, plan.cache_bytes == report.cache_bytes},
          {"scratch", plan.scratch_bytes, report.scratch_bytes, report.scratch_bytes <= plan.scratch_bytes},
          {"exchange", plan.exchange_bytes, report.exchange_bytes, report.exchange_bytes <= plan.exchange_bytes}};
}

std::string plan_comparison_text(const std::vector<PlanLine>& lines) {
  std::string text = "memory, planned and held:";
  for (const PlanLine& line : lines) {
    text += fmt::format("{} {} {:.1f} and {:.1f} MiB{}", &line == &lines.front() ? "" : ",", line.name,
                        static_cast<double>(line.predicted) * 0x1p-20, static_cast<double>(line.actual) * 0x1p-20,
                        line.holds ? "" : " (the plan was wrong)");
  }
  return text;
}

}  // namespace octet
