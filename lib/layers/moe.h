// Mixture of experts: routed experts by score or by token id, and one shared expert. All experts are split over the
// ranks by width, the shared one too, so both enter the same sum.
#pragma once

#include "kernels/moe.h"
#include "kernels/segments.h"
#include "layers/linear.h"
#include "layers/reduce.h"
#include "model/weights.h"

namespace octet {

/// Which experts every token uses, and how much.   Source: V4 model.py, Gate.forward.
template <class Ctx, class Act>
ops::Routing gate(Ctx& ctx, Mat<const Act> z, const MoeWeights& w, const ModelConfig& config, const Segments& batch) {
  const int64_t T = z.dim[0], K = config.num_experts_per_tok;
  const ops::Routing routing{ctx.template alloc<int32_t>(T, K), ctx.template alloc<float>(T, K)};
  const auto scope = ctx.scratch_scope();
  Mat<float> logits = ctx.template alloc<float>(T, config.n_routed_experts);
  ops::gemm(ctx, logits, z, w.gate);
  const float scale = static_cast<float>(config.routed_scaling_factor);
  if (w.tid2eid.data != nullptr) {
    ops::route_by_token(ctx, routing, logits, w.tid2eid, batch.tokens, scale);
  } else {
    ops::route_by_score(ctx, routing, logits, w.bias, scale);
  }
  return routing;
}

/// This rank's share of the mixture's output, written to `out`.   z [T, D] Act; out [T, D] fp32.
/// The reference rounds every expert's output to bf16 before the fp32 sum; a rank that holds only a share of the width
/// keeps fp32 instead, because the rounding belongs to the whole (lib/design/0002-partial-sums.md).
/// Source: V4 model.py, MoE.forward and Expert.forward.
template <class Ctx, class Act>
Partial moe(Ctx& ctx, Mat<float> out, Mat<const Act> z, const MoeWeights& w, const ModelConfig& config,
            const Segments& batch) {
  const auto scope = ctx.scratch_scope();
  const int64_t T = z.dim[0], K = config.num_experts_per_tok, E = config.n_routed_experts;
  const float limit = static_cast<float>(config.swiglu_limit);
  const auto output = comm::ranks(ctx) == 1 ? ops::ExpertOutput::kWhole : ops::ExpertOutput::kShare;

  const ops::Routing routing = gate<Ctx, Act>(ctx, z, w, config, batch);
  const ops::ExpertGroups groups{ctx.template alloc<int32_t>(T * K), ctx.template alloc<float>(T * K),
                                 ctx.template alloc<int64_t>(E + 1)};
  ops::group_by_expert(ctx, groups, routing);
  const ops::LinearInput<Act> input = linear_input<Ctx, Act>(ctx, z);

  // routed
  Mat<Act> t = ctx.template alloc<Act>(T * K, w.w1[0].q.dim[0]);
  ops::experts_up<Act>(ctx, t, input, groups, w.w1, w.w3, limit);
  ops::experts_down<Act>(ctx, out, linear_input<Ctx, Act>(ctx, t), groups, w.w2, output);

  // shared
  Mat<Act> g = linear(ctx, input, w.shared_w1);
  Mat<Act> u = linear(ctx, input, w.shared_w3);
  ops::swiglu<Act>(ctx, g, g, u, {}, limit);
  Mat<float> y = ctx.template alloc<float>(T, config.hidden_size);
  ops::gemm(ctx, y, linear_input<Ctx, Act>(ctx, g), w.shared_w2);
  ops::add_expert<Act>(ctx, out, y, output);
  return Partial(out);
}

}  // namespace octet
