// Log-probabilities of drawn tokens, for the lines that ask for them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/batch.h"

namespace octet {

/// Of one drawn token. -inf is -9999, as elsewhere in the output: JSON has no infinity.
struct TokenLogprobs {
  double logprob = 0;
  std::vector<std::pair<TokenId, double>> top;  ///< the most probable tokens, best first, ties to the lower id
};

/// log_softmax(logits)[drawn] and its `count` largest entries, computed in double from the raw row: no temperature, no
/// filter, no penalty. logits [V].
TokenLogprobs token_logprobs(std::span<const float> logits, TokenId drawn, int32_t count);

}  // namespace octet
