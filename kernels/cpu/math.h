// Shared pieces of the CPU ops: rows as fp32, sums in the reference's order.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/cpu/codes.h"
#include "kernels/cpu/context.h"
#include "kernels/quant.h"

namespace octet::cpu {

inline void widen(float* out, const float* in, int64_t n) {
  std::memcpy(out, in, static_cast<size_t>(n) * sizeof(float));
}
inline void widen(float* out, const bf16* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

inline void narrow(float* out, const float* in, int64_t n) {
  widen(out, in, n);
}
/// out = in rounded to Act.
inline void narrow(bf16* out, const float* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<bf16>(in[i]);
}

/// sum[i] += c * x[i].
inline void add_scaled(float* __restrict sum, float c, const float* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += c * x[i];
}

/// x as fp32 rows in scratch (x itself when it already is fp32).
inline Mat<const float> as_float(Context&, Mat<const float> x) {
  return x;
}
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

/// Whether a stands before b in descending order; a NaN stands last, so that a sort stays well-defined beside one.
inline bool stands_above(float a, float b) {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

inline float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

/// Sum of squares in fp32, in the order in which the reference's runtime sums a row: element i goes to lane i mod 32,
/// sixteen additions at a time per level of a cascade; then the four groups of eight lanes, then the eight lanes.
/// A norm's factor multiplies a whole row, so one different last bit here flips roundings all along it: against the
/// golden values this order halves the rows that differ, compared with a sum in double (lib/design/0004-sum-order.md).
template <class Act>
float sum_of_squares(const Act* x, int64_t n) {
  constexpr int64_t kWidth = 32, kStep = 16;
  constexpr int kLevels = 4;
  float acc[kLevels][kWidth] = {};
  const int64_t steps = n / kWidth;
  for (int64_t i = 0; i < steps; ++i) {
    for (int64_t l = 0; l < kWidth; ++l) {
      const float v = static_cast<float>(x[i * kWidth + l]);
      acc[0][l] += v * v;
    }
    int64_t done = i + 1;
    for (int level = 1; level < kLevels && done % kStep == 0; ++level, done /= kStep) {
      for (int64_t l = 0; l < kWidth; ++l) {
        acc[level][l] += acc[level - 1][l];
        acc[level - 1][l] = 0;
      }
    }
  }
  for (int level = 1; level < kLevels; ++level) {
    for (int64_t l = 0; l < kWidth; ++l) acc[0][l] += acc[level][l];
  }
  float sum = 0;
  for (int64_t i = steps * kWidth; i < n; ++i) {
    const float v = static_cast<float>(x[i]);
    sum += v * v;
  }
  for (int64_t l = 0; l < 8; ++l) sum += ((acc[0][l] + acc[0][8 + l]) + acc[0][16 + l]) + acc[0][24 + l];
  return sum;
}

template <class Act>
float mean_square(const Act* x, int64_t n) {
  return sum_of_squares(x, n) / static_cast<float>(n);
}

}  // namespace octet::cpu
