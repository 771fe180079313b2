// fp8 and fp4 codes to fp32, eight at a time. This is what a decode step of the CPU backend spends most of its time on:
// every weight it touches is read once. The shift-and-scale conversions of base/dtype.h are the definition; they pass
// through fp32 subnormals, which cost over a hundred cycles each, so here subnormal codes are selected instead.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace octet::cpu {

/// Vector registers as the compiler knows them; plain arithmetic works lane by lane.
using Words8 = uint32_t __attribute__((vector_size(32)));
using Ints8 = int32_t __attribute__((vector_size(32)));
using Floats8 = float __attribute__((vector_size(32)));

/// Eight bytes as eight words: spread by shifts, because GCC 12 widens a byte vector one element at a time.
inline Words8 load_bytes(const void* p) {
  uint32_t half[2];
  std::memcpy(half, p, sizeof half);
  const Words8 spread = {half[0], half[0], half[0], half[0], half[1], half[1], half[1], half[1]};
  constexpr Words8 kShift = {0, 8, 16, 24, 0, 8, 16, 24};
  return (spread >> kShift) & 0xffu;
}

inline Floats8 e4m3_values(Words8 code) {
  const Words8 m = code & 0x7fu;
  const Words8 normal = (m << 20) + (120u << 23);
  const Floats8 steps = __builtin_convertvector(reinterpret_cast<Ints8>(m), Floats8) * 0x1p-9f;
  const Words8 value = m < 8 ? reinterpret_cast<Words8>(steps) : normal;
  const Words8 nan = m == 0x7fu ? Words8{} + 0x7fc00000u : Words8{};
  return reinterpret_cast<Floats8>(value | nan | (code & 0x80u) << 24);
}

inline Floats8 e2m1_values(Words8 nibble) {
  constexpr Floats8 kMagnitude = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const Floats8 value = __builtin_shuffle(kMagnitude, reinterpret_cast<Ints8>(nibble & 7u));
  return reinterpret_cast<Floats8>(reinterpret_cast<Words8>(value) | (nibble & 8u) << 28);
}

/// out[k] = value of an e4m3 code times s; NaN codes give NaN.
inline void widen_fp8(float* out, const fp8_e4m3* q, float s, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Floats8 v = e4m3_values(load_bytes(q + i)) * s;
    std::memcpy(out + i, &v, sizeof v);
  }
  for (; i < n; ++i) out[i] = to_float(q[i]) * s;
}

/// out[2c], out[2c + 1] = the low and the high nibble of byte c, times s; n columns.
inline void widen_fp4(float* out, const fp4x2* q, float s, int64_t n) {
  int64_t c = 0;
  for (; c + 8 <= n / 2; c += 8) {
    const Words8 bytes = load_bytes(q + c);
    const Floats8 low = e2m1_values(bytes & 15u) * s, high = e2m1_values(bytes >> 4) * s;
    const Floats8 first = __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11);
    const Floats8 second = __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(out + 2 * c, &first, sizeof first);
    std::memcpy(out + 2 * c + 8, &second, sizeof second);
  }
  for (; c < n / 2; ++c) {
    out[2 * c] = e2m1_to_float(q[c].bits & 15u) * s;
    out[2 * c + 1] = e2m1_to_float(q[c].bits >> 4) * s;
  }
}

}  // namespace octet::cpu
