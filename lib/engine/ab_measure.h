// The measuring itself: which arm runs when, on which tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/ab_result.h"
#include "engine/ab_steps.h"
#include "engine/sequence.h"

namespace octet {

/// The arms with the reference again at the end, as the null arm.
std::vector<Arm> with_null_arm(std::vector<Arm> arms);

/// The order of the arms in a repetition: forwards in even ones, backwards in odd ones, so that over two repetitions
/// (A B B A) every arm stands at the same mean time and a drift of the machine meets all alike.
std::vector<size_t> arm_order(size_t arms, int64_t repetition);

/// Random token ids, the same for all arms. Prompts with other numbers have another token 0 (until the vocabulary is
/// used up), so that none begins like another.
std::vector<TokenId> random_prompt(uint64_t seed, int64_t number, int64_t length, int64_t vocab_size);

/// Rows of logits, one after the other, against the reference's.
std::vector<LogitsChange> compare_rows(std::span<const float> reference, std::span<const float> arm,
                                       int64_t vocab_size);

/// One run of one arm.
struct ArmRun {
  double ttft_ms = 0, step_ms = 0;
  std::vector<float> logits;  ///< rows to compare with the reference's; rank 0 only
};

/// Called once for each repetition, before it begins.
using AbProgress = std::function<void(const std::string& title, int64_t repetition, int64_t of)>;

struct AbMeasuring {
  std::vector<Arm> arms;  ///< with the null arm
  AbOptions options;
  int64_t vocab_size = 0;
  AbProgress progress = {};
};

/// A cold prompt of `length` tokens after the other.
AbCase measure_prefill(ArmSteps& steps, const AbMeasuring& measuring, int64_t length);
/// `sequences` prompts of options.context tokens, then options.steps steps with a row of each. The fed tokens are
/// random too: what an arm draws must not change its work.
AbCase measure_decode(ArmSteps& steps, const AbMeasuring& measuring, int64_t sequences);

/// A prompt of generate.
struct AbPrompt {
  Json id;
  std::vector<TokenId> tokens;
  int64_t max_new_tokens = 0;
  bool ignore_eos = false;
};
/// Every prompt is completed greedily by every arm; then each arm is fed the reference's completion, which gives the
/// logits that are compared. Holds the logits of one completion.
AbCase measure_generate(ArmSteps& steps, const AbMeasuring& measuring, const std::vector<AbPrompt>& prompts,
                        TokenId eos);

}  // namespace octet
