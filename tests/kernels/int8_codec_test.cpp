// The int8 code against its definition in double, over all magnitudes and at its edges.
#include "kernels/int8_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/support/random.h"

namespace octet::test {
namespace {

using Block = std::array<float, int8::kBlock>;

struct Coded {
  std::array<int8_t, int8::kBlock> q;
  bf16 scale;
  double s() const { return static_cast<double>(static_cast<float>(scale)); }
};

Coded encode(const Block& x) {
  Coded c{};
  c.q.fill(99);
  c.scale = int8::encode(c.q.data(), x.data());
  return c;
}

double largest(const Block& x) {
  double a = 0;
  for (const float v : x) a = std::max(a, std::fabs(static_cast<double>(v)));
  return a;
}

Block random_block(Random& random, double size) {
  Block x;
  for (float& v : x) v = static_cast<float>(size * random.normal());
  return x;
}

/// Nearest integer, ties to even, of x / s.
double defined_code(double x, double s) {
  return s == 0 ? 0 : std::nearbyint(x / s);
}

TEST(Int8Codec, ScaleIsTheRoundedLargestValueOver127AndCodesAreNearestToIt) {
  Random random(1);
  for (int exponent = -118; exponent <= 120; ++exponent) {
    const Block x = random_block(random, std::ldexp(1.0, exponent));
    const Coded c = encode(x);
    const double a = largest(x);
    EXPECT_EQ(c.scale.bits, bf16(static_cast<float>(a) / 127.0f).bits) << exponent;
    EXPECT_NEAR(c.s(), a / 127, a / 127 * 0x1p-8) << exponent;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto v = static_cast<double>(x[i]);
      EXPECT_LE(std::fabs(v - c.q[i] * c.s()), c.s() * (0.5 + 1e-5)) << exponent;
      EXPECT_NEAR(c.q[i], defined_code(v, c.s()), std::fabs(v / c.s() - std::trunc(v / c.s())) == 0.5 ? 1 : 0.50001);
      EXPECT_GE(c.q[i], -127);
    }
  }
}

TEST(Int8Codec, TheLargestValueNeverLeavesTheCodes) {
  Random random(2);
  int top = 0;
  for (int i = 0; i < 20000; ++i) {
    Block x = random_block(random, 0.1);
    x[7] = static_cast<float>(random.uniform(1, 2)) * (i % 2 == 0 ? 1.0f : -1.0f);
    const Coded c = encode(x);
    EXPECT_LE(std::abs(c.q[7]), 127);
    EXPECT_GE(std::abs(c.q[7]), 126);
    top += std::abs(c.q[7]) == 127 ? 1 : 0;
  }
  EXPECT_GT(top, 10000);
}

TEST(Int8Codec, TiesGoToTheEvenCode) {
  Block x{};
  x[0] = 127;  // scale 1
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = -2.5f;
  x[4] = 2.4999f;
  const Coded c = encode(x);
  EXPECT_EQ(static_cast<float>(c.scale), 1);
  EXPECT_EQ(c.q[1], 0);
  EXPECT_EQ(c.q[2], 2);
  EXPECT_EQ(c.q[3], -2);
  EXPECT_EQ(c.q[4], 2);
}

TEST(Int8Codec, AZeroBlockIsExactlyZero) {
  for (const float zero : {0.0f, -0.0f}) {
    Block x;
    x.fill(zero);
    const Coded c = encode(x);
    EXPECT_EQ(c.scale.bits, 0);
    for (const int8_t q : c.q) EXPECT_EQ(q, 0);
  }
}

TEST(Int8Codec, ABlockTooSmallForANormalScaleIsZeroAndTheSmallestOneIsNot) {
  Block x{};
  for (const float small : {0x1p-149f, 0x1p-130f, 126 * 0x1p-126f}) {
    x[3] = small;
    const Coded c = encode(x);
    EXPECT_EQ(c.scale.bits, 0) << small;
    EXPECT_EQ(c.q[3], 0) << small;
  }
  x[3] = 127 * 0x1p-126f;
  EXPECT_EQ(static_cast<float>(encode(x).scale), 0x1p-126f);
  EXPECT_EQ(encode(x).q[3], 127);
}

TEST(Int8Codec, ANonFiniteValueAnywhereMakesTheScaleNaNAndTheCodesZero) {
  Random random(3);
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    for (size_t i = 0; i < int8::kBlock; ++i) {
      Block x = random_block(random, 5);
      x[i] = bad;
      const Coded c = encode(x);
      EXPECT_EQ(c.scale.bits, 0x7fc0);
      for (const int8_t q : c.q) EXPECT_EQ(q, 0);
      float decoded[int8::kBlock];
      int8::decode(decoded, c.q.data(), c.scale);
      EXPECT_TRUE(std::isnan(decoded[i]));
      double sum[int8::kBlock] = {};
      int8::add_decoded(sum, c.q.data(), c.scale);
      int8_t q[int8::kBlock];
      EXPECT_EQ(int8::encode_sum(q, sum).bits, 0x7fc0) << "a sum does not launder it";
    }
  }
  Block x{};
  x[0] = 3.4e38f;  // the largest values are finite
  EXPECT_TRUE(std::isfinite(static_cast<float>(encode(x).scale)));
}

TEST(Int8Codec, DecodingIsExact) {
  for (int code = -127; code <= 127; ++code) {
    for (const float s : {1.0f, 0x1.fep-3f, 0x1.02p100f, 0x1.aap-120f}) {
      const auto q = static_cast<int8_t>(code);
      std::array<int8_t, int8::kBlock> codes;
      codes.fill(q);
      float x[int8::kBlock];
      int8::decode(x, codes.data(), bf16(s));
      EXPECT_EQ(static_cast<double>(x[5]), code * static_cast<double>(s));
    }
  }
}

/// The rule of the reference: codes by the unrounded a / 127, the scale rounded afterwards.
double worst_error(const Block& x, bool scale_first) {
  const double a = largest(x), s = static_cast<double>(static_cast<float>(bf16(static_cast<float>(a / 127))));
  double worst = 0;
  for (const float v : x) {
    const double q = std::nearbyint(static_cast<double>(v) / (scale_first ? s : a / 127));
    worst = std::max(worst, std::fabs(static_cast<double>(v) - q * s));
  }
  return worst / a;
}

TEST(Int8CodecNegativeControl, CodesByTheUnroundedScaleBreakTheBound) {
  Random random(4);
  const double bound = 0.5 * (1 + 0x1p-8) / 127 * 1.0001;
  int beyond = 0;
  for (int i = 0; i < 2000; ++i) {
    const Block x = random_block(random, 1);
    EXPECT_LE(worst_error(x, true), bound);
    beyond += worst_error(x, false) > bound ? 1 : 0;
  }
  EXPECT_GT(beyond, 500);
}

}  // namespace
}  // namespace octet::test
