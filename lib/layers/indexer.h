// The lightning indexer of a ratio-4 layer: which compressed rows each query attends to.
#pragma once

#include <cmath>

#include "kernels/indexer.h"
#include "layers/compressor.h"
#include "layers/linear.h"
#include "model/kv_cache.h"

namespace octet {

/// selected [T, index_topk] int32 in scratch, best first, -1 beyond the candidates. Replicated: every rank scores with
/// all index heads and selects the same rows.   u [T, D]; qr: the normalised low-rank query, as a linear's input.
/// Source: V4 model.py, Indexer.forward.
template <class Ctx, class Act>
Mat<const int32_t> indexer(Ctx& ctx, Mat<const Act> u, const ops::LinearInput<Act>& qr, const AttentionWeights& w,
                           const ModelConfig& config, const Segments& batch, const KvLayer& kv) {
  const IndexerWeights& wi = *w.indexer;
  const int64_t T = u.dim[0], H = config.index_n_heads, d = config.index_head_dim;
  Mat<int32_t> selected = ctx.template alloc<int32_t>(T, config.index_topk);
  const auto scope = ctx.scratch_scope();
  const auto pack = [&](Mat<std::byte> rows, Mat<const Act> x) { ops::pack_index<Act>(ctx, rows, x); };

  compressor(ctx, u, wi.compressor, w.frequencies, w.ratio, static_cast<float>(config.rms_norm_eps), batch,
             kv.index_raw, kv.index, pack);

  Mat<Act> q = linear(ctx, qr, wi.wq_b);
  ops::rope<Act>(ctx, {q.data, T, H, d}, batch.positions, w.frequencies, ops::Rotation::kForward);
  Mat<std::byte> packed = ctx.template alloc<std::byte>(T * H, kv.index.row_bytes);
  pack(packed, Mat<const Act>(q.data, T * H, d));

  Mat<Act> head_weight = ctx.template alloc<Act>(T, H);
  ops::gemm(ctx, head_weight, u, wi.weights_proj);
  ops::scale_rows<Act>(ctx, head_weight, static_cast<float>(1.0 / std::sqrt(static_cast<double>(d * H))));

  ops::select_rows<Act>(ctx, selected, {packed.data, T, H, kv.index.row_bytes}, kv.index, head_weight, batch, w.ratio,
                        d);
  return selected;
}

}  // namespace octet
