// The one matrix-product loop of the CPU backend; weight formats plug in as row readers.
#pragma once

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/math.h"
#include "kernels/gemm.h"

namespace octet::cpu {

/// store(t, n, x[t] . w_n) for all t and n < rows, where row(n, out) writes weight row n as K floats. Weight rows are
/// dequantised once, four at a time, and meet all x rows while they are in cache.
template <class Row, class Store>
void product(Context& ctx, Mat<const float> x, int64_t rows, Row&& row, Store&& store) {
  constexpr int kTileN = 4;
  constexpr int kTileM = 2;
  const int64_t T = x.dim[0], K = x.dim[1];
  if (T == 0) return;
  const auto scope = ctx.scratch_scope();
  Mat<float> w = ctx.alloc<float>(kTileN, K);
  for (int64_t n0 = 0; n0 < rows; n0 += kTileN) {
    const int64_t count = std::min<int64_t>(kTileN, rows - n0);
    for (int64_t i = 0; i < count; ++i) row(n0 + i, w[i].data);
    if (count < kTileN) {
      for (int64_t t = 0; t < T; ++t) {
        for (int64_t i = 0; i < count; ++i) store(t, n0 + i, dot(x[t].data, w[i].data, K));
      }
      continue;
    }
    const float* const b[kTileN] = {w[0].data, w[1].data, w[2].data, w[3].data};
    int64_t t = 0;
    for (; t + kTileM <= T; t += kTileM) {
      float out[kTileM][kTileN];
      dot_tile<kTileM, kTileN>(out, {x[t].data, x[t + 1].data}, b, K);
      for (int m = 0; m < kTileM; ++m) {
        for (int i = 0; i < kTileN; ++i) store(t + m, n0 + i, out[m][i]);
      }
    }
    for (; t < T; ++t) {
      float out[1][kTileN];
      dot_tile<1, kTileN>(out, {x[t].data}, b, K);
      for (int i = 0; i < kTileN; ++i) store(t, n0 + i, out[0][i]);
    }
  }
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
inline void read_row(float* out, Mat<const bf16> w, int64_t n) { widen(out, w[n].data, w.dim[1]); }
inline void read_row(float* out, Mat<const float> w, int64_t n) { widen(out, w[n].data, w.dim[1]); }

}  // namespace octet::cpu
