// Residual streams to logits.
#pragma once

#include "comm/collectives.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/hyper_connection.h"
#include "kernels/norm.h"
#include "model/weights.h"

namespace octet {

/// Logits of the chosen rows: [S, V] fp32 in `logits` on rank 0 (empty elsewhere).
/// y = sum of the streams by sigmoid gates, rms_norm, then this rank's vocabulary rows in fp32.
/// h [T, hc, D]; rows [S].   Source: V4 model.py, ParallelHead.forward.
template <class Ctx, class Act>
void head(Ctx& ctx, Mat<float> logits, Cube<const Act> h, Vec<const int64_t> rows, const ModelWeights& w,
          const ModelConfig& config) {
  const auto scope = ctx.scratch_scope();
  const int64_t S = rows.dim[0], hc = config.hc_mult, D = config.hidden_size;
  const float eps = static_cast<float>(config.rms_norm_eps);
  Cube<Act> chosen = ctx.template alloc<Act>(S, hc, D);
  ops::gather_rows<Act>(ctx, {chosen.data, S, hc * D}, {h.data, h.dim[0], hc * D}, rows);
  Mat<float> gates = ctx.template alloc<float>(S, hc);
  ops::hc_mixes<Act>(ctx, gates, chosen, w.hc_head.fn, eps);
  ops::hc_head_gates(ctx, gates, gates, w.hc_head, static_cast<float>(config.hc_eps));
  Mat<Act> y = ctx.template alloc<Act>(S, D);
  ops::hc_weighted_sum<Act>(ctx, y, chosen, gates);
  ops::rms_norm<Act>(ctx, y, y, w.norm, eps);
  Mat<float> part = ctx.template alloc<float>(S, w.head.dim[0]);
  ops::gemm(ctx, part, Mat<const Act>(y), w.head);
  comm::gather_columns(ctx, logits, part);
}

}  // namespace octet
