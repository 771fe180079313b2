// Choosing the next token from a row of logits.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/context.h"

namespace octet::ops {

/// How one token is drawn. temperature < 1e-5 is greedy (ties to the lower id). top_k 0, top_p 1 and min_p 0 are off,
/// as are the penalties 1, 0 and 0.
struct SampleParams {
  float temperature = 0;
  float top_p = 1;
  float min_p = 0;
  int32_t top_k = 0;
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  uint64_t seed = 0;
  int64_t position = 0;  ///< absolute position of the token being drawn

  bool penalises() const { return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0; }
};

/// A token that a sequence holds already.
struct TokenCount {
  int32_t id = 0;
  int32_t generated = 0;  ///< how often among the generated tokens; 0: it stands in the prompt only
};

/// ids[i] = token drawn from logits[i,:]: temperature, then top_k (ties with the k-th are kept), then top_p (smallest
/// set of most probable tokens whose sum reaches p; at least one), then argmax of log p + Gumbel noise. The noise is
/// Philox4x32-10 with key = seed, counter = (id / 4, position, stream 0, 0), so a draw depends on nothing else.
/// logits [S, V] fp32; params [S]; ids [S].
void sample(cpu::Context&, Vec<int32_t> ids, Mat<const float> logits, Vec<const SampleParams> params);

}  // namespace octet::ops
