// Routing and the experts. Token order, expert order and sums are fixed: no atomics, ascending expert ids.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/gemm.h"

namespace octet::ops {

/// Which experts each token uses. ids [T, K] int32; weights [T, K] fp32.
struct Routing {
  Mat<int32_t> ids;
  Mat<float> weights;
};

/// c = sqrt(softplus(logits)); ids = the K largest c + bias (ties to the lower id); weights = scale * c / sum(c).
/// softplus(x) = log1p(exp(x)) for x <= 20, else x. logits [T, E] fp32; bias [E].
/// Source: V4 model.py, Gate.forward (score_func "sqrtsoftplus").
void route_by_score(cpu::Context&, Routing, Mat<const float> logits, Vec<const float> bias, float scale);

/// ids = tid2eid[token]; weights as above from the same c.   tid2eid [V, K] int64; tokens [T].
void route_by_token(cpu::Context&, Routing, Mat<const float> logits, Mat<const int64_t> tid2eid,
                    Vec<const int32_t> tokens, float scale);

/// (token, choice) pairs in order of expert, then token: pair p is token[p] with weight[p]; expert e owns pairs
/// [offset[e], offset[e + 1]).   token, weight [T * K]; offset [E + 1].
struct ExpertGroups {
  Vec<int32_t> token;
  Vec<float> weight;
  Vec<int64_t> offset;
};
void group_by_expert(cpu::Context&, ExpertGroups, const Routing&);

/// g = min(w1 z, limit), u = clamp(w3 z, -limit, limit) (both rounded to Act first), t = Act( weight * silu(g) * u ).
/// gate, up [P, I] Act; weight [P] (empty: 1); t [P, I] Act, may be gate.   Source: V4 model.py, Expert.forward.
template <class Act>
void swiglu(cpu::Context&, Mat<Act> t, Mat<const Act> gate, Mat<const Act> up, Vec<const float> weight, float limit);

/// t[p,:] = swiglu of pair p through its expert's w1 and w3.   z [T, D]; w1, w3 [E] of [I, D]; t [P, I] Act.
template <class Act>
void experts_up(cpu::Context&, Mat<Act> t, const LinearInput<Act>& z, const ExpertGroups&, Vec<const Fp4Weight> w1,
                Vec<const Fp4Weight> w3, float limit);

/// Whether this rank's product is the whole expert output, which the reference rounds to Act, or a share of it.
enum class ExpertOutput { kWhole, kShare };

/// y[t,:] = sum over the experts of t, ascending, of w2 t: fp32, each output rounded to Act first when whole.
/// x [P, I] in pair order; w2 [E] of [D, I]; y [T, D] fp32, overwritten.   Source: V4 model.py, MoE.forward.
template <class Act>
void experts_down(cpu::Context&, Mat<float> y, const LinearInput<Act>& x, const ExpertGroups&, Vec<const Fp4Weight> w2,
                  ExpertOutput);

/// y += x, both [T, D] fp32; with kWhole x is rounded to Act first (the shared expert).
template <class Act>
void add_expert(cpu::Context&, Mat<float> y, Mat<const float> x, ExpertOutput);

}  // namespace octet::ops
