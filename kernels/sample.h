// Choosing the next token from a row of logits.
#pragma once

#include <cstdint>
#include <span>

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

/// logits[c.id] = repeated(logits[c.id]) - frequency_penalty · c.generated - presence_penalty · [c.generated > 0] for
/// every c of counts, where repeated(x) = x / repetition_penalty if x > 0, else x · repetition_penalty. So repetition
/// counts the prompt, the other two what was generated. Computed in double, rounded to fp32 once; -inf stays -inf.
/// logits [V] fp32, in place; counts holds an id at most once.   Source: vLLM, apply_all_penalties.
void apply_penalties(cpu::Context&, Vec<float> logits, std::span<const TokenCount> counts, const SampleParams& params);

/// ids[i] = argmax over the candidates of logits[i,:] / temperature + Gumbel noise: a draw from the softmax over them.
/// With p = softmax(logits[i,:] / temperature), the candidates are those that pass, in this order,
///   min_p   p >= min_p · max p
///   top_k   p >= the k-th largest p (ties with it are kept)
///   top_p   the smallest set of the most probable whose sum reaches top_p of the sum left by the first two; at least
///   one.
/// Penalties come before all this (apply_penalties) and also change what greedy takes. The noise is Philox4x32-10 with
/// key = seed, counter = (id / 4, position, stream 0, 0), so a draw depends on nothing else.
/// logits [S, V] fp32; params [S]; ids [S].
void sample(cpu::Context&, Vec<int32_t> ids, Mat<const float> logits, Vec<const SampleParams> params);

}  // namespace octet::ops
