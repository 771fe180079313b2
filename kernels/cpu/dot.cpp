// The dot products. This file alone is compiled with contraction of a * b + c (CMakeLists.txt), so that the vector
// multiply-adds below are fused; every other CPU source rounds each operation.
#include "kernels/cpu/dot.h"

#include <cstring>

namespace octet::cpu {
namespace {

constexpr int kLanes = 8;
/// Eight lanes that the compiler keeps in one register.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Half = float __attribute__((vector_size(kLanes / 2 * sizeof(float))));

Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <int M, int N>
void tile(float (&out)[M][N], const float* const (&a)[M], const float* const (&b)[N], int64_t K) {
  Lanes acc[M][N];
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) acc[m][n] = Lanes{};
  }
  const int64_t whole = K / kLanes * kLanes;
  for (int64_t k = 0; k < whole; k += kLanes) {
    Lanes x[M];
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) x[m] = load(a[m] + k);
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      const Lanes w = load(b[n] + k);
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) acc[m][n] = x[m] * w + acc[m][n];
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      Lanes s = acc[m][n];
      for (int64_t k = whole; k < K; ++k) s[k - whole] = a[m][k] * b[n][k] + s[k - whole];
      const Half h = __builtin_shufflevector(s, s, 0, 1, 2, 3) + __builtin_shufflevector(s, s, 4, 5, 6, 7);
      out[m][n] = (h[0] + h[2]) + (h[1] + h[3]);
    }
  }
}

}  // namespace

template <int M>
void dot_tile(float (&out)[M][kDotColumns], const float* const (&a)[M], const float* const (&b)[kDotColumns],
              int64_t K) {
  tile<M, kDotColumns>(out, a, b, K);
}

template void dot_tile<1>(float (&)[1][kDotColumns], const float* const (&)[1], const float* const (&)[kDotColumns],
                          int64_t);
template void dot_tile<3>(float (&)[3][kDotColumns], const float* const (&)[3], const float* const (&)[kDotColumns],
                          int64_t);

}  // namespace octet::cpu
