// Every conversion of base/dtype.h against a definition written from the formats' tables, over all codes.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace octet {
namespace {

/// OCP e4m3: (-1)^s 2^(e-7) (1 + m/8), or 2^-6 m/8 when e is 0; all ones is NaN.
double e4m3_value(int code) {
  const int sign = code >> 7, exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  const double size = exponent == 0 ? std::ldexp(mantissa / 8.0, -6) : std::ldexp(1 + mantissa / 8.0, exponent - 7);
  return sign != 0 ? -size : size;
}

constexpr double kE2m1Values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

/// The code whose value is nearest to x, ties to the even code; `values` ascend with their codes.
template <class Values>
int nearest(const Values& values, double x) {
  int best = 0;
  for (int code = 1; code < static_cast<int>(std::size(values)); ++code) {
    const double here = std::fabs(values[static_cast<size_t>(code)] - x);
    const double there = std::fabs(values[static_cast<size_t>(best)] - x);
    if (here < there || (here == there && code % 2 == 0)) best = code;
  }
  return best;
}

const std::vector<double>& e4m3_values() {
  static const std::vector<double> values = [] {
    std::vector<double> list;
    for (int code = 0; code < 127; ++code) list.push_back(e4m3_value(code));
    return list;
  }();
  return values;
}

/// The values themselves, the middles between neighbours and the floats on both sides of each middle.
std::vector<float> interesting(const double* values, size_t count) {
  std::vector<float> list;
  for (size_t i = 0; i + 1 < count; ++i) {
    const auto middle = static_cast<float>((values[i] + values[i + 1]) / 2);
    list.insert(list.end(),
                {static_cast<float>(values[i]), std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1000.0f)});
  }
  list.push_back(static_cast<float>(values[count - 1]));
  return list;
}

TEST(E4m3, AllCodesHaveTheirValue) {
  for (int code = 0; code < 256; ++code) {
    const float value = to_float(fp8_e4m3{static_cast<uint8_t>(code)});
    const double expected = e4m3_value(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << code;
      continue;
    }
    EXPECT_EQ(static_cast<double>(value), expected) << code;
    EXPECT_EQ(std::signbit(value), code >= 128) << code;
  }
}

TEST(E4m3, EveryValueComesBackToItsCode) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 127) == 127) continue;
    EXPECT_EQ(to_e4m3(to_float(fp8_e4m3{static_cast<uint8_t>(code)})).bits, code);
  }
}

TEST(E4m3, RoundsToNearestEvenAroundEveryMiddle) {
  for (const float x : interesting(e4m3_values().data(), e4m3_values().size())) {
    const int expected = nearest(e4m3_values(), static_cast<double>(x));
    EXPECT_EQ(to_e4m3(x).bits, expected) << x;
    EXPECT_EQ(to_e4m3(-x).bits, expected | 128) << -x;
  }
}

TEST(E4m3, RoundsRandomValuesToNearestEven) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const float x = std::ldexp(static_cast<float>(random() % 0x1000000), static_cast<int>(random() % 24) - 39);
    if (x > 448) continue;
    ASSERT_EQ(to_e4m3(x).bits, nearest(e4m3_values(), static_cast<double>(x))) << x;
  }
}

TEST(E4m3, TakesNaNToNaN) {
  EXPECT_EQ(to_e4m3(NAN).bits & 0x7f, 0x7f);
}

TEST(E4m3, RoundsTheSpecificationsBlock) {
  constexpr float kBlock[] = {1, -0.3f, 0.0123f, 0.9f, -0.77f, 0x1p-10f, 0.33f, -0.051f};
  constexpr float kCodes[] = {256, -80, 3.25f, 224, -192, 0.25f, 88, -13};
  constexpr float kOutputs[] = {1, -0.3125f, 0.0126953125f, 0.875f, -0.75f, 0.0009765625f, 0.34375f, -0.05078125f};
  for (size_t i = 0; i < std::size(kBlock); ++i) {
    const float code = to_float(to_e4m3(static_cast<float>(bf16(kBlock[i])) * 256));
    EXPECT_EQ(code, kCodes[i]);
    EXPECT_EQ(code / 256, kOutputs[i]);
  }
}

TEST(E8m0, AllCodesArePowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const float value = to_float(fp8_e8m0{static_cast<uint8_t>(code)});
    EXPECT_EQ(static_cast<double>(value), std::ldexp(1.0, code - 127)) << code;
  }
  EXPECT_TRUE(std::isnan(to_float(fp8_e8m0{255})));
}

TEST(E2m1, AllNibblesHaveTheirValue) {
  for (uint32_t code = 0; code < 16; ++code) {
    const float value = e2m1_to_float(code);
    EXPECT_EQ(std::fabs(static_cast<double>(value)), kE2m1Values[code & 7]) << code;
    EXPECT_EQ(std::signbit(value), code >= 8) << code;
  }
}

TEST(E2m1, RoundsToNearestEvenAroundEveryMiddle) {
  for (const float x : interesting(kE2m1Values, std::size(kE2m1Values))) {
    const int expected = nearest(kE2m1Values, static_cast<double>(x));
    EXPECT_EQ(to_e2m1(x), expected) << x;
    EXPECT_EQ(to_e2m1(-x), expected | 8) << -x;
  }
}

TEST(E2m1, RoundsTheSpecificationsExamples) {
  constexpr float kIn[] = {6, -5, 3.5f, 2.5f, 1.75f, 1.25f, 0.75f, 0.25f, -0.26f, 0.1f};
  constexpr float kOut[] = {6, -4, 4, 2, 2, 1, 1, 0, -0.5f, 0};
  for (size_t i = 0; i < std::size(kIn); ++i) EXPECT_EQ(e2m1_to_float(to_e2m1(kIn[i])), kOut[i]) << kIn[i];
}

TEST(Bf16, EveryNumberComesBackToItsBits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto narrow = static_cast<uint16_t>(bits);
    const auto wide = static_cast<float>(bf16::from_bits(narrow));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(bf16(wide)))) << bits;
    } else {
      EXPECT_EQ(bf16(wide).bits, narrow);
    }
  }
}

TEST(Bf16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const uint32_t low = bits << 16;
    const auto even = static_cast<uint16_t>(bits + (bits & 1));
    EXPECT_EQ(bf16(std::bit_cast<float>(low + 0x7fff)).bits, bits);
    EXPECT_EQ(bf16(std::bit_cast<float>(low + 0x8000)).bits, even);
    EXPECT_EQ(bf16(std::bit_cast<float>(low + 0x8001)).bits, bits + 1);
    EXPECT_EQ(bf16(-std::bit_cast<float>(low + 0x8000)).bits, even | 0x8000);
  }
}

TEST(Bf16, KeepsNaNANaNWhateverItsPayload) {
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::bit_cast<float>(0xffffffffu)))));
}

TEST(DTypes, HaveTheSizesOfTheirNames) {
  EXPECT_EQ(dtype_bytes(DType::kF32), 4);
  EXPECT_EQ(dtype_bytes(DType::kBf16), 2);
  EXPECT_EQ(dtype_bytes(DType::kI64), 8);
  EXPECT_EQ(dtype_bytes(DType::kF8E8m0), 1);
  EXPECT_EQ(dtype_name(DType::kF8E4m3), "F8_E4M3");
}

}  // namespace
}  // namespace octet
