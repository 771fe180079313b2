// The borders of a sub-layer: the previous output folded into the residual streams, then the next input mixed out.
#pragma once

#include <optional>
#include <utility>

#include "comm/share.h"
#include "kernels/hyper_connection.h"
#include "kernels/norm.h"
#include "layers/reduce.h"
#include "model/config.h"

namespace octet {

/// The residual streams and the buffers that live across sub-layers; made once per step.
template <class Act>
struct Streams {
  Cube<Act> h;                   ///< [T, hc, D]
  Mat<Act> u;                    ///< [T, D] input of the current sub-layer
  Mat<float> partial;            ///< [T, D] its output before the reduction
  ReductionTarget<Act> reduced;  ///< [T, D] and after it
  Mat<float> post;               ///< [T, hc]
  Cube<float> comb;              ///< [T, hc, hc]
  Vec<float> squares;            ///< [T] row sums of squares of h, while a folded post has just written them
};

/// What the streams have not taken yet, with the coefficients it enters by: a sub-layer's sum, the embedding of a
/// model's first layer, or nothing.
template <class Act>
struct Carry {
  std::optional<Reduced<Act>> x;  ///< empty: no sum is pending
  Mat<const float> post;
  Cube<const float> comb;
  Mat<const Act> embedding = {};  ///< [T, D], of which h becomes hc copies; empty: h is there
};

template <class Act>
struct SubLayerInput {
  Mat<const Act> u;  ///< [T, D] normalised
  Mat<const float> post;
  Cube<const float> comb;
};

/// `h` [T, hc, D] is the caller's.
template <class Ctx, class Act>
Streams<Act> make_streams(Ctx& ctx, Cube<Act> h, const ModelConfig& config) {
  const int64_t T = h.dim[0], D = config.hidden_size, hc = config.hc_mult;
  Streams<Act> s{.h = h,
                 .u = ctx.template alloc<Act>(T, D),
                 .partial = ctx.template alloc<float>(T, D),
                 .reduced = {ctx.template alloc<Act>(T, D), {}},
                 .post = ctx.template alloc<float>(T, hc),
                 .comb = ctx.template alloc<float>(T, hc, hc),
                 .squares = {}};
  const StepFeatures features = step_features(ctx, T);
  if (features.int8_sums) {
    s.reduced.codes = {ctx.template alloc<int8_t>(T, D), ctx.template alloc<bf16>(T, D / int8::kBlock)};
  }
  if (features.folded_posts) s.squares = ctx.template alloc<float>(T);
  return s;
}

template <class Ctx, class Act>
Streams<Act> make_streams(Ctx& ctx, int64_t T, const ModelConfig& config) {
  return make_streams<Ctx, Act>(ctx, ctx.template alloc<Act>(T, config.hc_mult, config.hidden_size), config);
}

/// h <- hc_post(h, pending sum), if one is pending. Where streams leave the layers: tap, hand-over, head.
template <class Ctx, class Act>
void post(Ctx& ctx, Streams<Act>& s, Carry<Act> c) {
  if (!c.embedding.empty()) ops::hc_expand<Act>(ctx, s.h, c.embedding);
  if (!c.x) return;
  c.x->visit([&](const auto& x) { ops::hc_post<Act>(ctx, s.h, x, c.post, c.comb); });
}

/// mixes = hc_mixes(h) from known sums of squares; above the threshold every rank mixes its own rows and gathers the
/// rest in fp32, to the same bits.
template <class Ctx, class Act>
void mix(Ctx& ctx, Mat<float> mixes, Streams<Act>& s, const ops::HcWeights& hc, float eps, const Site& site) {
  const int64_t T = s.h.dim[0];
  const bool shared = step_features(ctx, T).shared_mixes;
  const comm::Share own = shared ? comm::share_of(T, comm::ranks(ctx), comm::rank(ctx)) : comm::Share{0, T};
  ops::hc_mixes<Act>(ctx, mixes.rows(own.first, own.count), s.h.rows(own.first, own.count),
                     s.squares.rows(own.first, own.count), hc.fn, eps);
  if (!shared) return;
  ++ctx.counts.shared_mixes;
  comm::all_gather_rows(ctx, mixes, site);
}

/// The streams take what is pending, and the mixes of the next sub-layer are read off them: [T, hc * (2 + hc)].
template <class Ctx, class Act>
void post_mix(Ctx& ctx, Mat<float> mixes, Streams<Act>& s, Carry<Act> c, const ops::HcWeights& hc, float eps,
              const Site& site) {
  if (!c.embedding.empty()) return ops::hc_expand_mixes<Act>(ctx, s.h, mixes, c.embedding, hc.fn, eps);
  if (!c.x || !step_features(ctx, s.h.dim[0]).folded_posts) {
    post(ctx, s, std::move(c));
    return ops::hc_mixes<Act>(ctx, mixes, s.h, hc.fn, eps);
  }
  ++ctx.counts.folded_posts;
  c.x->visit([&](const auto& x) { ops::hc_post_sqrsum(ctx, s.squares, s.h, x, c.post, c.comb); });
  mix(ctx, mixes, s, hc, eps, site);
}

/// post, then u = rms_norm(hc_pre(h)) with the coefficients for the sub-layer's own output. `site` is that sub-layer.
/// Source: V4 model.py, Block.forward (hc_post of one sub-layer, hc_pre and norm of the next).
template <class Ctx, class Act>
SubLayerInput<Act> post_pre(Ctx& ctx, Streams<Act>& s, Carry<Act> c, const ops::HcWeights& hc, Vec<const bf16> norm,
                            const ModelConfig& config, const Site& site) {
  const auto scope = ctx.scratch_scope();
  const int64_t T = s.h.dim[0];
  const float eps = static_cast<float>(config.rms_norm_eps);
  Mat<float> mixes = ctx.template alloc<float>(T, config.hc_mixes());
  Mat<float> pre = ctx.template alloc<float>(T, config.hc_mult);
  post_mix(ctx, mixes, s, std::move(c), hc, eps, site);
  ops::hc_split_sinkhorn(ctx, pre, s.post, s.comb, mixes, hc, config.hc_sinkhorn_iters,
                         static_cast<float>(config.hc_eps));
  ops::hc_weighted_sum<Act>(ctx, s.u, s.h, pre);
  ops::rms_norm<Act>(ctx, s.u, s.u, norm, eps);
  return {s.u, s.post, s.comb};
}

}  // namespace octet
