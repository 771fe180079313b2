// The one matrix-product loop of the CPU backend; weight formats plug in as row readers.
#pragma once

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/dot.h"
#include "kernels/cpu/math.h"
#include "kernels/gemm.h"

namespace octet::cpu {

/// store(t, n, v, count): v[i] = x[t] . w_(n + i) for i < count <= 4, for all t and all n < rows, where row(n, out)
/// writes weight row n as K floats. Weight rows are dequantised once, four at a time, and meet all x rows while in
/// cache.
template <class Row, class Store>
void product(Context& ctx, Mat<const float> x, int64_t rows, Row&& row, Store&& store) {
  constexpr int kTile = 3;
  const int64_t T = x.dim[0], K = x.dim[1];
  if (T == 0) return;
  const auto scope = ctx.scratch_scope();
  Mat<float> w = ctx.alloc<float>(kDotColumns, K);
  const float* const b[kDotColumns] = {w[0].data, w[1].data, w[2].data, w[3].data};
  for (int64_t n = 0; n < rows; n += kDotColumns) {
    const int64_t count = std::min<int64_t>(kDotColumns, rows - n);
    for (int64_t i = 0; i < count; ++i) row(n + i, w[i].data);
    for (int64_t i = count; i < kDotColumns; ++i) std::fill(w[i].begin(), w[i].end(), 0.0f);
    int64_t t = 0;
    const float* a = x.data;
    for (; t + kTile <= T; t += kTile, a += kTile * K) {
      float out[kTile][kDotColumns];
      dot_tile<kTile>(out, {a, a + K, a + 2 * K}, b, K);
      for (int m = 0; m < kTile; ++m) store(t + m, n, out[m], count);
    }
    for (; t < T; ++t, a += K) {
      float out[1][kDotColumns];
      dot_tile<1>(out, {a}, b, K);
      store(t, n, out[0], count);
    }
  }
}

/// The usual store: rows of y, rounded to its element type.
template <class Out>
auto store_rounded(Mat<Out> y, int64_t first_column = 0) {
  return [y, first_column](int64_t t, int64_t n, const float* v, int64_t count) {
    Out* out = y.data + t * y.dim[1] + first_column + n;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(v[i]);
  };
}

/// Row n of an fp8 weight as floats.
inline void read_row(float* out, const ops::Fp8Weight& w, int64_t n) {
  const int64_t K = w.q.dim[1];
  const Vec<const fp8_e8m0> scale = w.scale[(w.first_row + n) / 128];
  for (int64_t k = 0; k < K; k += 128) {
    widen_fp8(out + k, w.q[n].data + k, to_float(scale[k / 128]), std::min<int64_t>(128, K - k));
  }
}
/// Row n of an fp4 weight as floats.
inline void read_row(float* out, const ops::Fp4Weight& w, int64_t n) {
  const int64_t K = 2 * w.q.dim[1];
  for (int64_t k = 0; k < K; k += 32) {
    widen_fp4(out + k, w.q[n].data + k / 2, to_float(w.scale[n][k / 32]), std::min<int64_t>(32, K - k));
  }
}
inline void read_row(float* out, Mat<const bf16> w, int64_t n) {
  widen(out, w[n].data, w.dim[1]);
}
inline void read_row(float* out, Mat<const float> w, int64_t n) {
  widen(out, w[n].data, w.dim[1]);
}

}  // namespace octet::cpu
