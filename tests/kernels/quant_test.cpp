// Block scales and the fp8 input of a linear layer (kernels/quant.h), bit for bit against a definition that searches
// the powers of two and the code tables. Packed rows: quant_rows_test.cpp.
#include "kernels/quant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

// Smallest e with a / 2^e <= limit, by search.
int scale_exponent(double a, double limit) {
  int e = -140;
  while (std::ldexp(a, -e) > limit) ++e;
  return e;
}

// The e4m3 code nearest to x: over all finite codes of x's sign, ties to the even code.
uint8_t nearest_e4m3(double x) {
  const int sign = std::signbit(x) ? 0x80 : 0;
  int best = 0;
  for (int code = 1; code < 0x7f; ++code) {
    const double error = std::fabs(std::fabs(x) - as_double(fp8_e4m3{static_cast<uint8_t>(code)}));
    const double least = std::fabs(std::fabs(x) - as_double(fp8_e4m3{static_cast<uint8_t>(best)}));
    if (error < least || (error == least && code % 2 == 0)) best = code;
  }
  return static_cast<uint8_t>(sign | best);
}

struct Quantised {
  Array<fp8_e4m3, 2> q;
  Array<fp8_e8m0, 2> scale;
};

template <class Act>
Quantised quantise(const Array<Act, 2>& x) {
  cpu::Context ctx;
  Quantised out{Array<fp8_e4m3, 2>(x.dim(0), x.dim(1)), Array<fp8_e8m0, 2>(x.dim(0), x.dim(1) / 128)};
  ops::quantise_fp8<Act>(ctx, out.q, out.scale, x);
  return out;
}

template <class Act>
Quantised defined_quantise(const Array<Act, 2>& x, int64_t block = 128, double limit = 448) {
  Quantised out{Array<fp8_e4m3, 2>(x.dim(0), x.dim(1)), Array<fp8_e8m0, 2>(x.dim(0), x.dim(1) / 128)};
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t b = 0; b < x.dim(1) / block; ++b) {
      double largest = 1e-4;
      for (int64_t c = b * block; c < (b + 1) * block; ++c) largest = std::max(largest, std::fabs(as_double(x(t, c))));
      const int e = scale_exponent(largest, limit);
      out.scale(t, b * block / 128) = {static_cast<uint8_t>(e + 127)};
      for (int64_t c = b * block; c < (b + 1) * block; ++c) {
        out.q(t, c) = {nearest_e4m3(std::clamp(std::ldexp(as_double(x(t, c)), -e), -448.0, 448.0))};
      }
    }
  }
  return out;
}

TEST(BlockScale, Fp8ExponentIsTheSmallestThatFits) {
  const auto exponent = [](float a) { return ops::fp8_block_scale(a).bits - 127; };
  EXPECT_EQ(exponent(0.0f), -22);
  EXPECT_EQ(exponent(1e-5f), -22);
  EXPECT_EQ(exponent(1e-4f), -22);
  EXPECT_EQ(exponent(0.5f), -9);
  EXPECT_EQ(exponent(1.0f), -8);
  EXPECT_EQ(exponent(447.0f), 0);
  EXPECT_EQ(exponent(448.0f), 0);
  EXPECT_EQ(exponent(449.0f), 1);
  EXPECT_EQ(exponent(896.0f), 1);
  EXPECT_EQ(exponent(1000.0f), 2);
}

TEST(BlockScale, Fp4ExponentIsTheSmallestThatFits) {
  const auto exponent = [](float a) { return ops::fp4_block_scale(a).bits - 127; };
  EXPECT_EQ(exponent(0.0f), -126);
  EXPECT_EQ(exponent(0.01f), -9);
  EXPECT_EQ(exponent(1.0f), -2);
  EXPECT_EQ(exponent(6.0f), 0);
  EXPECT_EQ(exponent(6.03125f), 1);
  EXPECT_EQ(exponent(12.0f), 1);
}

TEST(BlockScale, IsExactForEveryBf16) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {  // every finite value that is not negative
    const float a = static_cast<float>(bf16::from_bits(static_cast<uint16_t>(bits)));
    const double a8 = std::max(static_cast<double>(a), 1e-4);
    const double a4 = std::max(static_cast<double>(a), 6 * 0x1p-126);
    ASSERT_EQ(ops::fp8_block_scale(a).bits - 127, scale_exponent(a8, 448)) << a;
    ASSERT_EQ(ops::fp4_block_scale(a).bits - 127, scale_exponent(a4, 6)) << a;
  }
}

template <class Act>
class QuantiseFp8 : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(QuantiseFp8, Activations);

TYPED_TEST(QuantiseFp8, AgreesWithTheUnitVector) {
  const std::vector<float> values = {1, -0.3f, 0.0123f, 0.9f, -0.77f, 0x1p-10f, 0.33f, -0.051f};
  const std::vector<double> codes = {256, -80, 3.25, 224, -192, 0.25, 88, -13};
  Array<TypeParam, 2> x(1, 128);
  x.fill(TypeParam(0.0f));
  for (size_t i = 0; i < values.size(); ++i) x(0, i) = TypeParam(static_cast<float>(bf16(values[i])));
  const Quantised got = quantise(x);
  EXPECT_EQ(got.scale(0, 0).bits, 127 - 8);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(as_double(got.q(0, i)), codes[i]) << i;
  for (int i = 8; i < 128; ++i) EXPECT_EQ(got.q(0, i).bits, 0) << i;
}

TYPED_TEST(QuantiseFp8, RoundsToTheNearestCodeOfTheBlock) {
  Random random(31);
  for (const auto& [rows, blocks] : {std::pair{3, 2}, {1, 1}, {5, 3}, {0, 2}}) {
    Array<TypeParam, 2> x(rows, 128 * blocks);
    for (TypeParam& v : x) {  // magnitudes over many binades: normal, subnormal and zero codes
      v = TypeParam(static_cast<float>(random.normal() * std::exp2(random.uniform(-20, 4))));
    }
    const Quantised got = quantise(x);
    const Quantised want = defined_quantise(x);
    EXPECT_TRUE(same_bits(got.scale, want.scale));
    EXPECT_TRUE(same_bits(got.q, want.q));
  }
}

TYPED_TEST(QuantiseFp8, TiesGoToTheEvenCode) {
  Array<TypeParam, 2> x(1, 128);
  x.fill(TypeParam(0.0f));
  x(0, 0) = TypeParam(448.0f);  // scale 1
  const std::vector<float> ties = {17, 19, -17, 1.0625f, 0x1p-10f, 3 * 0x1p-10f, -0x1p-10f, 432};
  const std::vector<double> even = {16, 20, -16, 1, 0, 0x1p-8, -0.0, 448};
  for (size_t i = 0; i < ties.size(); ++i) x(0, i + 1) = TypeParam(ties[i]);
  const Quantised got = quantise(x);
  ASSERT_EQ(got.scale(0, 0).bits, 127);
  for (size_t i = 0; i < ties.size(); ++i) EXPECT_EQ(as_double(got.q(0, i + 1)), even[i]) << ties[i];
}

TYPED_TEST(QuantiseFp8, ARowDoesNotDependOnTheOthers) {
  Random random(32);
  Array<TypeParam, 2> x(4, 256);
  random.fill_normal(x);
  const Quantised all = quantise(x);
  for (int t = 0; t < 4; ++t) {
    const Quantised one = quantise(copy_rows(x, t, 1));
    EXPECT_TRUE(same_bits(one.q, copy_rows(all.q, t, 1)));
    EXPECT_TRUE(same_bits(one.scale, copy_rows(all.scale, t, 1)));
  }
}

TEST(QuantNegativeControl, ALimitOf480IsSeen) {
  Random random(33);
  Array<bf16, 2> x(8, 256);
  for (bf16& v : x) v = bf16(static_cast<float>(random.uniform(-470, 470)));
  EXPECT_FALSE(same_bits(quantise(x).scale, defined_quantise(x, 128, 480).scale));
}

TEST(QuantNegativeControl, BlocksOf64AreSeen) {
  Random random(34);
  Array<bf16, 2> x(8, 128);
  random.fill_normal(x);
  for (int t = 0; t < 8; ++t) {
    for (int c = 0; c < 64; ++c) x(t, c) = bf16(static_cast<float>(x(t, c)) * 8);  // the halves differ in scale
  }
  EXPECT_FALSE(same_bits(quantise(x).q, defined_quantise(x, 64).q));
}

}  // namespace
}  // namespace octet::test
