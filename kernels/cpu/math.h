// Shared pieces of the CPU ops: rows as fp32, and dot products whose order depends on the length alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/cpu/context.h"
#include "kernels/quant.h"

namespace octet::cpu {

inline void widen(float* out, const float* in, int64_t n) { std::memcpy(out, in, static_cast<size_t>(n) * sizeof(float)); }
inline void widen(float* out, const bf16* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

/// out[k] = value of an e4m3 code times s. No NaN codes: the loader and the quantisers exclude them.
inline void widen_fp8(float* out, const fp8_e4m3* q, float s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t b = q[i].bits;
    out[i] = std::bit_cast<float>(((b & 0x80u) << 24) | ((b & 0x7fu) << 20)) * 0x1p120f * s;
  }
}

/// out[2c], out[2c + 1] = the low and the high nibble of byte c, times s; n columns.
inline void widen_fp4(float* out, const fp4x2* q, float s, int64_t n) {
  for (int64_t c = 0; c < n / 2; ++c) {
    out[2 * c] = e2m1_to_float(q[c].bits & 15u) * s;
    out[2 * c + 1] = e2m1_to_float(q[c].bits >> 4) * s;
  }
}

inline constexpr int kLanes = 8;

/// The fixed tree over the lanes of a dot product.
inline float sum_lanes(const float* lane) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/// out[m][n] = a[m] . b[n] for M x N rows of length K. Element k goes to lane k mod 8 by fused multiply-add; the lanes are
/// added in a fixed tree. The tile shape changes the speed, never a bit of the result.
template <int M, int N>
inline void dot_tile(float (&out)[M][N], const float* const (&a)[M], const float* const (&b)[N], int64_t K) {
  float acc[M][N][kLanes] = {};
  const int64_t whole = K / kLanes * kLanes;
  for (int64_t k = 0; k < whole; k += kLanes) {
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) {
        for (int l = 0; l < kLanes; ++l) acc[m][n][l] = std::fma(a[m][k + l], b[n][k + l], acc[m][n][l]);
      }
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      for (int64_t k = whole; k < K; ++k) acc[m][n][k - whole] = std::fma(a[m][k], b[n][k], acc[m][n][k - whole]);
      out[m][n] = sum_lanes(acc[m][n]);
    }
  }
}

inline float dot(const float* a, const float* b, int64_t K) {
  float out[1][1];
  dot_tile<1, 1>(out, {a}, {b}, K);
  return out[0][0];
}

/// x as fp32 rows in scratch (x itself when it already is fp32).
inline Mat<const float> as_float(Context&, Mat<const float> x) { return x; }
inline Mat<const float> as_float(Context& ctx, Mat<const bf16> x) {
  Mat<float> y = ctx.alloc<float>(x.dim[0], x.dim[1]);
  widen(y.data, x.data, x.size());
  return y;
}

/// The values a linear layer multiplies: the dequantised fp8 codes where there are any, else the activation.
template <class Act>
Mat<const float> as_float(Context& ctx, const ops::LinearInput<Act>& in) {
  if (in.q.data == nullptr) return as_float(ctx, in.x);
  Mat<float> y = ctx.alloc<float>(in.q.dim[0], in.q.dim[1]);
  for (int64_t t = 0; t < in.q.dim[0]; ++t) {
    for (int64_t b = 0; b < in.scale.dim[1]; ++b) {
      const int64_t k = b * ops::kActBlock;
      widen_fp8(y[t].data + k, in.q[t].data + k, to_float(in.scale[t][b]), ops::kActBlock);
    }
  }
  return y;
}

inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

/// Mean of squares in double: exact enough that its fp32 rounding is the true one.
template <class Act>
double mean_square(const Act* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(static_cast<float>(x[i]));
    sum += v * v;
  }
  return sum / static_cast<double>(n);
}

}  // namespace octet::cpu
