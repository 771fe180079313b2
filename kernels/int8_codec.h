// The int8 code of a sum: blocks of 32 values share one bf16 scale. The only definition; every backend and transport
// calls these functions, so their bytes are the same. Build without fast-math: division and rounding must be IEEE.
//
//   a = max |x|      s = bf16_rne(a / 127)      q = rne(x * (1 / s))      decoded: q * s
//
// Scale-first: the codes are taken with the rounded scale, so that |x - q s| <= s / 2, and |x / s| <= 127.496 cannot
// leave int8. A block with s below the smallest normal number is all zeros (1 / s would overflow). A block with a NaN
// or an infinity has the scale NaN, so that a fault stays visible. Derivation: lib/design/0008-int8-codec.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/dtype.h"
#include "base/host_device.h"
#include "base/tensor.h"

namespace octet::int8 {

inline constexpr int64_t kBlock = 32;  ///< values that share a scale
inline constexpr float kTopCode = 127;

/// Bytes of a block on the wire: its codes and its scale.
inline constexpr int64_t kBlockBytes = kBlock + static_cast<int64_t>(sizeof(bf16));

/// [T, D] values: codes [T, D] with scales [T, D / 32]; neither means anything without the other.
struct Rows {
  Mat<int8_t> q;
  Mat<bf16> scale;
  int64_t blocks() const { return scale.size(); }
};

/// The scale of 32 values; 0 for a block of zeros, NaN (bits 0x7fc0) when one is not finite.
OCTET_HOST_DEVICE inline bf16 block_scale(const float* x) {
  float top = 0, poison = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    const float a = std::fabs(x[i]);
    top = a > top ? a : top;
    poison += x[i] * 0.0f;  // 0, or NaN from the first value that is not finite
  }
  if (poison != 0.0f) return bf16::from_bits(0x7fc0);
  const bf16 scale(top / kTopCode);
  return static_cast<float>(scale) < std::numeric_limits<float>::min() ? bf16::from_bits(0) : scale;
}

/// Codes of 32 values into q; returns their scale.
OCTET_HOST_DEVICE inline bf16 encode(int8_t* q, const float* x) {
  const bf16 scale = block_scale(x);
  const float s = static_cast<float>(scale);
  const float inverse = s > 0 ? 1.0f / s : 0.0f;  // 0 for a NaN scale too
  for (int64_t i = 0; i < kBlock; ++i) {
    const float v = inverse > 0 ? x[i] * inverse : 0.0f;  // never 0 times infinity
    q[i] = static_cast<int8_t>(std::rint(v));
  }
  return scale;
}

/// x = q * s, exact in fp32: a code has 7 bits, a scale 8.
OCTET_HOST_DEVICE inline void decode(float* x, const int8_t* q, bf16 scale) {
  const float s = static_cast<float>(scale);
  for (int64_t i = 0; i < kBlock; ++i) x[i] = static_cast<float>(q[i]) * s;
}

/// sum += q * s in fp64, where the sum of up to 2^6 blocks whose scales are at most 2^31 apart is exact: the order of
/// the addends cannot matter.
OCTET_HOST_DEVICE inline void add_decoded(double* sum, const int8_t* q, bf16 scale) {
  const double s = static_cast<double>(static_cast<float>(scale));
  for (int64_t i = 0; i < kBlock; ++i) sum[i] += static_cast<double>(q[i]) * s;
}

/// Codes of a summed block: rounded to fp32 once, then as any block.
OCTET_HOST_DEVICE inline bf16 encode_sum(int8_t* q, const double* sum) {
  float x[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) x[i] = static_cast<float>(sum[i]);
  return encode(q, x);
}

}  // namespace octet::int8
