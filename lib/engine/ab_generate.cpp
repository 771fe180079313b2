// See ab_measure.h: generate. A prompt is a repetition.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/ab_measure.h"

namespace octet {
namespace {

struct Completion {
  std::vector<TokenId> tokens;
  double ttft_ms = 0;
};

/// Ends like octet generate with temperature 0, and where an arm's logits are not finite.
Completion complete(ArmSteps& steps, const AbPrompt& prompt, TokenId eos) {
  using Clock = std::chrono::steady_clock;
  Completion completion;
  std::vector<float> unused;
  const Clock::time_point start = Clock::now();
  TokenId token = steps.begin(0, prompt.tokens, prompt.tokens.size() - 1, unused);
  completion.ttft_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  while (token != kNotFiniteToken) {
    completion.tokens.push_back(token);
    if (token == eos && !prompt.ignore_eos) break;
    if (static_cast<int64_t>(completion.tokens.size()) == prompt.max_new_tokens) break;
    token = steps.next({&token, 1})[0];
  }
  return completion;
}

/// The logits that lead to each token of the completion, the reference's, whatever the arm would have said. On rank 0.
std::vector<float> forced_logits(ArmSteps& steps, const AbPrompt& prompt, const std::vector<TokenId>& completion) {
  std::vector<TokenId> tokens = prompt.tokens;
  if (!completion.empty()) tokens.insert(tokens.end(), completion.begin(), completion.end() - 1);
  std::vector<float> logits;
  steps.begin(0, tokens, prompt.tokens.size() - 1, logits);
  return logits;
}

Agreement agreement_of(const AbPrompt& prompt, const Completion& reference, const Completion& arm,
                       std::span<const float> reference_logits, int64_t vocab_size) {
  const auto [own, other] =
      std::mismatch(reference.tokens.begin(), reference.tokens.end(), arm.tokens.begin(), arm.tokens.end());
  Agreement agreement{.id = prompt.id,
                      .tokens = static_cast<int64_t>(reference.tokens.size()),
                      .agreed = own - reference.tokens.begin()};
  if (own == reference.tokens.end() || reference_logits.empty()) return agreement;
  const auto width = static_cast<size_t>(vocab_size);
  agreement.margin = top_two_margin(reference_logits.subspan(static_cast<size_t>(agreement.agreed) * width, width));
  return agreement;
}

}  // namespace

AbCase measure_generate(ArmSteps& steps, const AbMeasuring& measuring, const std::vector<AbPrompt>& prompts,
                        TokenId eos) {
  const size_t arms = measuring.arms.size();
  const auto count = static_cast<int64_t>(prompts.size());
  AbCase result{.title = fmt::format("generate, {} prompts", count)};
  result.arms.resize(arms);
  for (int64_t repetition = 0; repetition <= count; ++repetition) {  // repetition 0 warms up and does not count
    if (measuring.progress) measuring.progress(result.title, repetition, count);
    const AbPrompt& prompt = prompts[static_cast<size_t>(std::max<int64_t>(repetition - 1, 0))];
    std::vector<Completion> completions(arms);
    for (const size_t arm : arm_order(arms, repetition)) {
      steps.use(measuring.arms[arm]);
      completions[arm] = complete(steps, prompt, eos);
      if (repetition > 0) result.arms[arm].counts += steps.counts();
    }
    if (repetition == 0) continue;
    std::vector<float> reference;
    for (size_t arm = 0; arm < arms; ++arm) {
      steps.use(measuring.arms[arm]);
      std::vector<float> logits = forced_logits(steps, prompt, completions[0].tokens);
      if (arm == 0) reference = logits;
      ArmRecord& record = result.arms[arm];
      record.counts += steps.counts();
      record.ttft_ms.push_back(completions[arm].ttft_ms);
      record.results.push_back(compare_rows(reference, logits, measuring.vocab_size));
      record.agreements.push_back(
          agreement_of(prompt, completions[0], completions[arm], reference, measuring.vocab_size));
    }
  }
  return result;
}

}  // namespace octet
