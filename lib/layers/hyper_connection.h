// The borders of a sub-layer: the previous output folded into the residual streams, then the next input mixed out.
#pragma once

#include <optional>
#include <utility>

#include "kernels/hyper_connection.h"
#include "kernels/norm.h"
#include "layers/reduce.h"
#include "model/config.h"

namespace octet {

/// The residual streams and the buffers that live across sub-layers; made once per step.
template <class Act>
struct Streams {
  Cube<Act> h;         ///< [T, hc, D]
  Mat<Act> u;          ///< [T, D] input of the current sub-layer
  Mat<float> partial;  ///< [T, D] its output before the reduction
  Mat<Act> reduced;    ///< [T, D] and after it
  Mat<float> post;     ///< [T, hc]
  Cube<float> comb;    ///< [T, hc, hc]
};

/// A sub-layer's summed output that the streams have not taken yet, with the coefficients it enters by.
template <class Act>
struct Carry {
  std::optional<Reduced<Act>> x;  ///< empty: nothing pending
  Mat<const float> post;
  Cube<const float> comb;
};

template <class Act>
struct SubLayerInput {
  Mat<const Act> u;  ///< [T, D] normalised
  Mat<const float> post;
  Cube<const float> comb;
};

template <class Ctx, class Act>
Streams<Act> make_streams(Ctx& ctx, int64_t T, const ModelConfig& config) {
  const int64_t D = config.hidden_size, hc = config.hc_mult;
  return {ctx.template alloc<Act>(T, hc, D), ctx.template alloc<Act>(T, D),    ctx.template alloc<float>(T, D),
          ctx.template alloc<Act>(T, D),     ctx.template alloc<float>(T, hc), ctx.template alloc<float>(T, hc, hc)};
}

/// h <- hc_post(h, pending output), if one is pending.
template <class Ctx, class Act>
void post(Ctx& ctx, Streams<Act>& s, Carry<Act> c) {
  if (c.x) ops::hc_post<Act>(ctx, s.h, c.x->rows(), c.post, c.comb);
}

/// post, then u = rms_norm(hc_pre(h)) with the coefficients for the sub-layer's own output.
/// Source: V4 model.py, Block.forward (hc_post of one sub-layer, hc_pre and norm of the next).
template <class Ctx, class Act>
SubLayerInput<Act> post_pre(Ctx& ctx, Streams<Act>& s, Carry<Act> c, const ops::HcWeights& hc, Vec<const bf16> norm,
                            const ModelConfig& config) {
  post(ctx, s, std::move(c));
  const auto scope = ctx.scratch_scope();
  const int64_t T = s.h.dim[0];
  const float eps = static_cast<float>(config.rms_norm_eps);
  Mat<float> mixes = ctx.template alloc<float>(T, config.hc_mixes());
  Mat<float> pre = ctx.template alloc<float>(T, config.hc_mult);
  ops::hc_mixes<Act>(ctx, mixes, s.h, hc.fn, eps);
  ops::hc_split_sinkhorn(ctx, pre, s.post, s.comb, mixes, hc, config.hc_sinkhorn_iters,
                         static_cast<float>(config.hc_eps));
  ops::hc_weighted_sum<Act>(ctx, s.u, s.h, pre);
  ops::rms_norm<Act>(ctx, s.u, s.u, norm, eps);
  return {s.u, s.post, s.comb};
}

}  // namespace octet
