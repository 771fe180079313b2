// Index scores and the best rows. Keys are unpacked once per segment.
#include "kernels/indexer.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/dot.h"
#include "kernels/cpu/math.h"

namespace octet::ops {
namespace {

template <class Act>
float act(float v) {
  return static_cast<float>(static_cast<Act>(v));
}

/// score[j] for j < candidates, from q [H, d] and keys [candidates rounded up to 4, d]. Four keys at a time.
template <class Act>
void score_rows(float* score, Mat<const float> q, Mat<const float> keys, Vec<const Act> w, int64_t candidates) {
  const int64_t H = q.dim[0], d = q.dim[1];
  for (int64_t j = 0; j < candidates; j += cpu::kDotColumns) {
    const float* k = keys[j].data;
    float sum[cpu::kDotColumns] = {};
    for (int64_t h = 0; h < H; ++h) {
      float s[1][cpu::kDotColumns];
      cpu::dot_tile<1>(s, {q[h].data}, {k, k + d, k + 2 * d, k + 3 * d}, d);
      for (int i = 0; i < cpu::kDotColumns; ++i) {
        sum[i] += act<Act>(std::max(act<Act>(s[0][i]), 0.0f) * static_cast<float>(w[h]));
      }
    }
    for (int i = 0; i < cpu::kDotColumns; ++i) score[j + i] = act<Act>(sum[i]);
  }
}

}  // namespace

template <class Act>
void scale_rows(cpu::Context&, Mat<Act> w, float scale) {
  for (Act& v : w) v = static_cast<Act>(static_cast<float>(v) * scale);
}

template <class Act>
void select_rows(cpu::Context& ctx, Mat<int32_t> selected, Cube<const std::byte> q, const PagedRows& keys,
                 Mat<const Act> w, const Segments& rows, int64_t ratio, int64_t index_dim) {
  require(selected.dim[0] == q.dim[0] && w.dim[1] == q.dim[1], "select_rows: shapes disagree");
  for (int64_t s = 0; s < rows.segments.dim[0]; ++s) {
    const auto scope = ctx.scratch_scope();
    const Segment& segment = rows.segments[s];
    const int64_t visible_at_end = (segment.position + segment.count) / ratio;
    const int64_t padded = (visible_at_end + cpu::kDotColumns - 1) / cpu::kDotColumns * cpu::kDotColumns;
    Mat<float> key = ctx.alloc<float>(padded, index_dim);
    std::fill(key[visible_at_end].data, key.end(), 0.0f);
    for (int64_t j = 0; j < visible_at_end; ++j) {
      unpack_index_row<Act>(key[j].data, keys.row(rows.pages[s], j), index_dim);
    }
    Mat<float> query = ctx.alloc<float>(q.dim[1], index_dim);
    Vec<float> score = ctx.alloc<float>(padded);
    std::vector<int32_t> order;
    for (int64_t t = segment.row; t < segment.row + segment.count; ++t) {
      const int64_t candidates = (rows.positions[t] + 1) / ratio;
      for (int64_t h = 0; h < q.dim[1]; ++h) unpack_index_row<Act>(query[h].data, q[t][h].data, index_dim);
      score_rows(score.data, query, key, w[t], candidates);
      order.resize(static_cast<size_t>(candidates));
      std::iota(order.begin(), order.end(), 0);
      const auto kept = static_cast<std::ptrdiff_t>(std::min(candidates, selected.dim[1]));
      std::partial_sort(order.begin(), order.begin() + kept, order.end(), [&](int32_t a, int32_t b) {
        if (cpu::stands_above(score[a], score[b])) return true;
        return !cpu::stands_above(score[b], score[a]) && a < b;
      });
      std::fill(selected[t].begin(), selected[t].end(), -1);
      std::copy(order.begin(), order.begin() + kept, selected[t].begin());
    }
  }
}

template void scale_rows(cpu::Context&, Mat<bf16>, float);
template void scale_rows(cpu::Context&, Mat<float>, float);
template void select_rows(cpu::Context&, Mat<int32_t>, Cube<const std::byte>, const PagedRows&, Mat<const bf16>,
                          const Segments&, int64_t, int64_t);
template void select_rows(cpu::Context&, Mat<int32_t>, Cube<const std::byte>, const PagedRows&, Mat<const float>,
                          const Segments&, int64_t, int64_t);

}  // namespace octet::ops
