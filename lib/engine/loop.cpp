// Time is taken here and only here: no decision depends on it.
#include "engine/loop.h"

#include <chrono>
#include <utility>

namespace octet {

Timing timing_of(const Finished& finished, std::span<const StepRecord> steps) {
  const StepRecord& admitted = steps[static_cast<size_t>(finished.admitted_step)];
  const StepRecord& first = steps[static_cast<size_t>(finished.first_token_step)];
  const StepRecord& last = steps[static_cast<size_t>(finished.last_step)];
  return {.queue_us = admitted.begin_us,
          .prefill_us = first.end_us - admitted.begin_us,
          .decode_us = last.end_us - first.end_us};
}

std::vector<StepRecord> run_loop(Scheduler& scheduler, Runner& runner, const LoopHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  const auto now_us = [start] {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<StepRecord> steps;
  while (true) {
    if (hooks.refill) hooks.refill();
    if (scheduler.done()) return steps;
    StepRecord record{.begin_us = now_us()};
    const BatchPlan plan = scheduler.plan();
    const std::vector<SampleOrigin> origins = scheduler.origins(plan);
    record.prefill_rows = static_cast<int32_t>(scheduler.prefill_rows(plan));
    record.decode_rows = static_cast<int32_t>(plan.tokens()) - record.prefill_rows;
    if (hooks.before_step) hooks.before_step(plan, origins);
    const std::span<const TokenId> tokens = runner.step(plan);
    record.end_us = now_us();
    steps.push_back(record);
    if (hooks.after_step) hooks.after_step(origins, runner.logits(), tokens);
    for (Finished& f : scheduler.commit(plan, tokens)) {
      const Timing timing = timing_of(f, steps);
      if (hooks.finished) hooks.finished(std::move(f), timing);
    }
    if (hooks.progress) hooks.progress(record);
  }
}

}  // namespace octet
