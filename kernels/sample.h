// Choosing the next token from a row of logits.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/context.h"

namespace octet::ops {

/// How one token is drawn. temperature < 1e-5 is greedy (ties to the lower id). top_k 0 and top_p 1 are off.
struct SampleParams {
  float temperature = 0;
  float top_p = 1;
  int32_t top_k = 0;
  uint64_t seed = 0;
  int64_t position = 0;  ///< absolute position of the token being drawn
};

/// ids[i] = token drawn from logits[i,:]: temperature, then top_k (ties with the k-th are kept), then top_p (smallest
/// set of most probable tokens whose sum reaches p; at least one), then argmax of log p + Gumbel noise. The noise is
/// Philox4x32-10 with key = seed, counter = (id / 4, position, stream 0, 0), so a draw depends on nothing else.
/// logits [S, V] fp32; params [S]; ids [S].
void sample(cpu::Context&, Vec<int32_t> ids, Mat<const float> logits, Vec<const SampleParams> params);

}  // namespace octet::ops
