// See ab_measure.h: prefill and decode.
#include "engine/ab_measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Repetition 0 warms up and does not count.
AbCase measure(ArmSteps& steps, const AbMeasuring& measuring, AbCase result,
               const std::function<ArmRun(int64_t repetition)>& run) {
  const size_t arms = measuring.arms.size();
  result.arms.resize(arms);
  for (int64_t repetition = 0; repetition <= measuring.options.repeat; ++repetition) {
    if (measuring.progress) measuring.progress(result.title, repetition, measuring.options.repeat);
    std::vector<ArmRun> runs(arms);
    for (const size_t arm : arm_order(arms, repetition)) {
      steps.use(measuring.arms[arm]);
      runs[arm] = run(repetition);
      if (repetition > 0) result.arms[arm].counts += steps.counts();
    }
    if (repetition == 0) continue;
    for (size_t arm = 0; arm < arms; ++arm) {
      ArmRecord& record = result.arms[arm];
      record.ttft_ms.push_back(runs[arm].ttft_ms);
      if (runs[arm].step_ms > 0) record.step_ms.push_back(runs[arm].step_ms);
      record.results.push_back(compare_rows(runs[0].logits, runs[arm].logits, measuring.vocab_size));
    }
  }
  return result;
}

}  // namespace

std::vector<LogitsChange> compare_rows(std::span<const float> reference, std::span<const float> arm,
                                       int64_t vocab_size) {
  std::vector<LogitsChange> changes;
  const auto width = static_cast<size_t>(vocab_size);
  for (size_t begin = 0; begin < reference.size(); begin += width) {
    changes.push_back(compare_logits(reference.subspan(begin, width), arm.subspan(begin, width)));
  }
  return changes;
}

std::vector<Arm> with_null_arm(std::vector<Arm> arms) {
  Arm null = arms.front();
  null.name = kNullArm;
  arms.push_back(std::move(null));
  return arms;
}

std::vector<size_t> arm_order(size_t arms, int64_t repetition) {
  std::vector<size_t> order(arms);
  std::iota(order.begin(), order.end(), size_t{0});
  if (repetition % 2 != 0) std::reverse(order.begin(), order.end());
  return order;
}

std::vector<TokenId> random_prompt(uint64_t seed, int64_t number, int64_t length, int64_t vocab_size) {
  const auto vocabulary = static_cast<uint64_t>(vocab_size);
  const uint64_t first = mix(seed) + static_cast<uint64_t>(number);
  std::vector<TokenId> tokens = {static_cast<TokenId>(first % vocabulary)};
  for (int64_t i = 1; i < length; ++i) {
    tokens.push_back(static_cast<TokenId>(mix(mix(first) + static_cast<uint64_t>(i)) % vocabulary));
  }
  return tokens;
}

AbCase measure_prefill(ArmSteps& steps, const AbMeasuring& measuring, int64_t length) {
  AbCase result{.title = fmt::format("prefill of {} tokens", length), .tokens = length};
  return measure(steps, measuring, std::move(result), [&](int64_t repetition) {
    const std::vector<TokenId> prompt = random_prompt(measuring.options.seed, repetition, length, measuring.vocab_size);
    ArmRun run;
    const Clock::time_point start = Clock::now();
    steps.begin(0, prompt, prompt.size() - 1, run.logits);
    run.ttft_ms = ms_since(start);
    return run;
  });
}

AbCase measure_decode(ArmSteps& steps, const AbMeasuring& measuring, int64_t sequences) {
  const AbOptions& options = measuring.options;
  AbCase result{.title = fmt::format("decode after {} tokens, {} at a time", options.context, sequences),
                .tokens = options.context,
                .sequences = sequences};
  return measure(steps, measuring, std::move(result), [&](int64_t repetition) {
    const int64_t length = options.context + options.steps;
    std::vector<std::vector<TokenId>> texts;
    for (int64_t s = 0; s < sequences; ++s) {
      texts.push_back(random_prompt(options.seed, repetition * sequences + s, length, measuring.vocab_size));
    }
    ArmRun run;
    const Clock::time_point start = Clock::now();
    const auto context = static_cast<size_t>(options.context);
    for (size_t s = 0; s < texts.size(); ++s) {
      steps.begin(static_cast<int32_t>(s), std::span(texts[s]).first(context), context - 1, run.logits);
    }
    run.ttft_ms = ms_since(start);
    const Clock::time_point decode = Clock::now();
    std::vector<TokenId> row(texts.size());
    for (size_t i = context; i < static_cast<size_t>(length); ++i) {
      for (size_t s = 0; s < texts.size(); ++s) row[s] = texts[s][i];
      steps.next(row);
    }
    run.step_ms = ms_since(decode) / static_cast<double>(options.steps);
    const Mat<const float> last = steps.logits();
    run.logits.insert(run.logits.end(), last.data, last.data + last.size());
    return run;
  });
}

}  // namespace octet
