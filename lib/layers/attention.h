// Attention: multi-query with one shared key that is also the value, a sliding window plus compressed rows, a sink, and
// a grouped low-rank output. Paragraphs as in the reference: q, window kv, compressed kv, attend, o.
#pragma once

#include "kernels/attention.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "layers/compressor.h"
#include "layers/indexer.h"
#include "layers/linear.h"
#include "layers/reduce.h"
#include "model/kv_cache.h"
#include "model/weights.h"

namespace octet {

/// This rank's share of the attention output, written to `out`.
/// u [T, D] Act; out [T, D] fp32.   Source: V4 model.py, Attention.forward.
template <class Ctx, class Act>
Partial attention(Ctx& ctx, Mat<float> out, Mat<const Act> u, const AttentionWeights& w, const ModelConfig& config,
                  const Segments& batch, const KvLayer& kv) {
  const auto scope = ctx.scratch_scope();
  const int64_t T = u.dim[0], d = config.head_dim, rope_dim = config.qk_rope_head_dim;
  const int64_t local_heads = w.attn_sink.dim[0];
  const float eps = static_cast<float>(config.rms_norm_eps);
  const ops::LinearInput<Act> z = linear_input<Ctx, Act>(ctx, u);

  // q
  Mat<Act> qr = linear(ctx, z, w.wq_a);
  ops::rms_norm<Act>(ctx, qr, qr, w.q_norm, eps);
  const ops::LinearInput<Act> qr_input = linear_input<Ctx, Act>(ctx, qr);
  const Cube<Act> q(linear(ctx, qr_input, w.wq_b).data, T, local_heads, d);
  ops::head_rms_norm<Act>(ctx, {q.data, T * local_heads, d}, eps);
  ops::rope<Act>(ctx, q, batch.positions, w.frequencies, ops::Rotation::kForward);

  // window kv
  Mat<Act> k = linear(ctx, z, w.wkv);
  ops::rms_norm<Act>(ctx, k, k, w.kv_norm, eps);
  ops::rope<Act>(ctx, {k.data, T, 1, d}, batch.positions, w.frequencies, ops::Rotation::kForward);
  Mat<std::byte> kv_rows = ctx.template alloc<std::byte>(T, kv.window.row_bytes);
  const auto pack = [&](Mat<std::byte> rows, Mat<const Act> x) { ops::pack_kv<Act>(ctx, rows, x, rope_dim); };
  pack(kv_rows, k);

  // compressed kv: rows completed by this step are visible to its own later queries
  Mat<const int32_t> selected;
  if (w.indexer) selected = indexer<Ctx, Act>(ctx, u, qr_input, w, config, batch, kv);
  if (w.compressor) {
    compressor(ctx, u, *w.compressor, w.frequencies, w.ratio, eps, batch, kv.raw, kv.compressed, pack);
  }

  // attend
  const ops::AttentionKeys keys{.chunk = kv_rows,
                                .window = kv.window,
                                .compressed = kv.compressed,
                                .selected = selected,
                                .window_size = config.sliding_window,
                                .ratio = w.ratio,
                                .rope_dim = rope_dim};
  Cube<Act> o = ctx.template alloc<Act>(T, local_heads, d);
  ops::sparse_attention<Act>(ctx, o, q, keys, w.attn_sink, batch);
  ops::write_ring(ctx, kv.window, kv_rows, batch);  // after the last reader of older rows

  // o
  ops::rope<Act>(ctx, o, batch.positions, w.frequencies, ops::Rotation::kInverse);
  const int64_t local_groups = w.wo_a.q.dim[0] / config.o_lora_rank;
  Mat<Act> grouped = ctx.template alloc<Act>(T, w.wo_a.q.dim[0]);
  ops::grouped_gemm<Act>(ctx, grouped, {o.data, T, local_heads * d}, w.wo_a, local_groups);
  ops::gemm(ctx, out, linear_input<Ctx, Act>(ctx, grouped), w.wo_b);
  return Partial(out);
}

}  // namespace octet
