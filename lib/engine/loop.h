// The loop of the engine: plan, step, commit, until every sequence has ended; and the times it took.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "runtime/runner.h"

namespace octet {

/// When a step ran, in microseconds since the loop began, and what its rows were.
struct StepRecord {
  int64_t begin_us = 0, end_us = 0;
  int32_t prefill_rows = 0;
  int32_t decode_rows = 0;
};

/// The phases of one sequence; whole microseconds, so that they add up exactly. Every sequence is submitted when the
/// loop begins.
struct Timing {
  int64_t queue_us = 0;    ///< submission to the beginning of its first step
  int64_t prefill_us = 0;  ///< from there to the end of the step that gave the first token
  int64_t decode_us = 0;   ///< from there to the end of its last step
  int64_t ttft_us() const { return queue_us + prefill_us; }
  int64_t total_us() const { return queue_us + prefill_us + decode_us; }
};

Timing timing_of(const Finished& finished, std::span<const StepRecord> steps);

/// Called by the loop; each may be empty.
struct LoopHooks {
  std::function<void()> refill;  ///< before every step and when nothing is left: the place to add requests
  std::function<void(const BatchPlan&, std::span<const SampleOrigin>)> before_step;
  std::function<void(std::span<const SampleOrigin>, Mat<const float> logits, std::span<const TokenId> drawn)>
      after_step;
  std::function<void(Finished&&, const Timing&)> finished;
  std::function<void(const StepRecord&)> progress;
};

/// Runs the scheduler until it is done; what each step was.
std::vector<StepRecord> run_loop(Scheduler& scheduler, Runner& runner, const LoopHooks& hooks);

}  // namespace octet
