// Dot products of fp32 rows: the inner loop of every matrix product and of attention on the CPU.
#pragma once

#include <cstdint>

namespace octet::cpu {

/// Rows of b that one call takes.
inline constexpr int kDotColumns = 4;

/// out[m][n] = a[m] . b[n] for M rows a (1 or 3) and four rows b of length K. Element k goes to lane k mod 8 by one
/// fused multiply-add, the lanes are added in a fixed tree: the result depends on the two rows alone, never on M or on
/// the neighbours.
template <int M>
void dot_tile(float (&out)[M][kDotColumns], const float* const (&a)[M], const float* const (&b)[kDotColumns],
              int64_t K);

}  // namespace octet::cpu
