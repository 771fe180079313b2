// Element types of the checkpoint and of activations, with their exact conversions. CUDA sources reinterpret these as
// NVIDIA's types; the bytes are the same. Every conversion here is bit-exact IEEE or OCP and is tested exhaustively.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace octet {

/// bfloat16; float -> bf16 rounds to nearest even and keeps NaN a (quiet) NaN.
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float x) {
    const uint32_t u = std::bit_cast<uint32_t>(x);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    const uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
    bits = static_cast<uint16_t>((nan ? (u | 0x00400000u) : rounded) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static bf16 from_bits(uint16_t b) {
    bf16 x;
    x.bits = b;
    return x;
  }
};

/// OCP e4m3fn: 1-4-3, bias 7, subnormal step 2^-9, largest 448, no infinity, 0x7f and 0xff are NaN.
struct fp8_e4m3 {
  uint8_t bits;
};

/// OCP e8m0: 2^(bits - 127); 255 is NaN.
struct fp8_e8m0 {
  uint8_t bits;
};

/// Two OCP e2m1 values; the low nibble is the even column.
struct fp4x2 {
  uint8_t bits;
};

/// Value of an e4m3 byte; NaN for 0x7f and 0xff.
/// The field layout is a float's with a shorter exponent: shifted into place and scaled by 2^(127-7) it is exact,
/// subnormals included.
inline float to_float(fp8_e4m3 x) {
  if ((x.bits & 0x7fu) == 0x7fu) return std::bit_cast<float>(0x7fc00000u);
  const uint32_t u = (static_cast<uint32_t>(x.bits & 0x80u) << 24) | (static_cast<uint32_t>(x.bits & 0x7fu) << 20);
  return std::bit_cast<float>(u) * 0x1p120f;
}

/// Value of an e8m0 byte: 2^(bits-127), 2^-127 (an fp32 subnormal) for 0, NaN for 255.
inline float to_float(fp8_e8m0 x) {
  if (x.bits == 255) return std::bit_cast<float>(0x7fc00000u);
  if (x.bits == 0) return 0x1p-127f;
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 23);
}

/// Value of an e2m1 nibble (bits 0-3): sign, then {0, .5, 1, 1.5, 2, 3, 4, 6}.
inline float e2m1_to_float(uint32_t nibble) {
  const uint32_t u = ((nibble & 8u) << 28) | ((nibble & 7u) << 22);
  return std::bit_cast<float>(u) * 0x1p126f;
}

/// Nearest e4m3 of x, ties to even; |x| must be at most 448 (callers clamp first). NaN gives 0x7f.
/// Selections instead of branches, so that a loop over a block becomes vector code.
inline fp8_e4m3 to_e4m3(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint32_t m = u & 0x7fffffffu;
  const float a = std::bit_cast<float>(m);
  // Below 2^-6: multiples of 2^-9; adding 2^14 leaves exactly those bits, rounded to even.
  const uint32_t subnormal = std::bit_cast<uint32_t>(a + 0x1p14f) - std::bit_cast<uint32_t>(0x1p14f);
  const uint32_t normal = ((m + 0x7ffffu + ((m >> 20) & 1u)) >> 20) - (120u << 3);
  const uint32_t code = ((u >> 24) & 0x80u) | (m < std::bit_cast<uint32_t>(0x1p-6f) ? subnormal : normal);
  return {static_cast<uint8_t>(m > 0x7f800000u ? 0x7fu : code)};
}

/// Nearest e2m1 nibble of x, ties to the even code; |x| must be at most 6 (callers clamp first).
inline uint8_t to_e2m1(float x) {
  const uint8_t sign = std::signbit(x) ? 8 : 0;
  const float a = std::fabs(x);
  if (a < 1.0f) {  // multiples of 0.5; adding 2^22 leaves exactly those bits, rounded to even
    const uint32_t steps = std::bit_cast<uint32_t>(a + 0x1p22f) - std::bit_cast<uint32_t>(0x1p22f);
    return static_cast<uint8_t>(sign | steps);
  }
  const uint32_t m = std::bit_cast<uint32_t>(a);
  const uint32_t rounded = m + 0x1fffffu + ((m >> 22) & 1u);
  return static_cast<uint8_t>(sign | ((rounded >> 22) - (126u << 1)));
}

/// Element types as the safetensors header spells them.
enum class DType { kF32, kBf16, kI64, kI32, kI8, kF8E4m3, kF8E8m0 };

inline constexpr DType kDTypes[] = {DType::kF32, DType::kBf16,   DType::kI64,   DType::kI32,
                                    DType::kI8,  DType::kF8E4m3, DType::kF8E8m0};

constexpr std::string_view dtype_name(DType t) {
  switch (t) {
    case DType::kF32: return "F32";
    case DType::kBf16: return "BF16";
    case DType::kI64: return "I64";
    case DType::kI32: return "I32";
    case DType::kI8: return "I8";
    case DType::kF8E4m3: return "F8_E4M3";
    case DType::kF8E8m0: return "F8_E8M0";
  }
  return "?";
}

constexpr int64_t dtype_bytes(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kBf16: return 2;
    case DType::kI64: return 8;
    case DType::kI8:
    case DType::kF8E4m3:
    case DType::kF8E8m0: return 1;
  }
  return 0;
}

}  // namespace octet
