// The compressor of a layer, and the indexer's own smaller one: one pooled row per `ratio` tokens.
#pragma once

#include "kernels/compressor.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/segments.h"
#include "model/weights.h"

namespace octet {

/// Projects u to raw rows, pools the rows that this step completes, normalises, rotates, packs and appends them, then
/// keeps the newest raw rows. pack(rows, x) writes x's packed form; row_bytes is its size.
/// u [T, D] Act, not quantised; projections in fp32.   Source: V4 model.py, Compressor.forward.
template <class Ctx, class Act, class Pack>
void compressor(Ctx& ctx, Mat<const Act> u, const CompressorWeights& w, Vec<const float> frequencies, int64_t ratio,
                float eps, const Segments& batch, const Ring& raw_ring, const PagedRows& pages, Pack&& pack) {
  const auto scope = ctx.scratch_scope();
  const int64_t T = u.dim[0], C = w.wkv.dim[0], d = w.norm.dim[0];
  Mat<float> value = ctx.template alloc<float>(T, C), score = ctx.template alloc<float>(T, C);
  Mat<float> raw = ctx.template alloc<float>(T, 2 * C);
  ops::gemm(ctx, value, u, w.wkv);
  ops::gemm(ctx, score, u, w.wgate);
  ops::pack_raw(ctx, raw, value, score, batch.positions, w.ape);

  Vec<int64_t> first = ctx.template alloc<int64_t>(batch.segments.dim[0] + 1);
  ops::compressed_row_offsets(ctx, first, batch, ratio);
  const int64_t rows = batch.completed_rows(ratio);
  Mat<Act> pooled = ctx.template alloc<Act>(rows, d);
  Vec<int64_t> positions = ctx.template alloc<int64_t>(rows);
  ops::pool_compressed<Act>(ctx, pooled, positions, first, batch, raw, raw_ring, ratio);
  ops::rms_norm<Act>(ctx, pooled, pooled, w.norm, eps);
  ops::rope<Act>(ctx, {pooled.data, rows, 1, d}, positions, frequencies, ops::Rotation::kForward);
  Mat<std::byte> packed = ctx.template alloc<std::byte>(rows, pages.row_bytes);
  pack(packed, Mat<const Act>(pooled));
  ops::append_rows(ctx, pages, packed, first, positions, batch, ratio);
  ops::write_ring(ctx, raw_ring, {reinterpret_cast<std::byte*>(raw.data), T, raw_ring.row_bytes}, batch);
}

}  // namespace octet
