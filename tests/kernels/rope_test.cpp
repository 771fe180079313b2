// ops::rope against accurate sines of the fp32 angle, at hand-checked angles of the reference's frequency table.
#include "kernels/rope.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

using ops::Rotation;

template <class Act>
class Rope : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Rope, Activations);

enum class Form { kReference, kHalfSplit, kFirstDims, kInverse, kDoubleAngle };

template <class Act>
Array<double, 3> defined_rope(const Array<Act, 3>& x, const Array<int64_t, 1>& positions,
                              const Array<float, 1>& frequencies, Form form = Form::kReference) {
  const int64_t pairs = frequencies.size();
  const int64_t first = form == Form::kFirstDims ? 0 : x.dim(2) - 2 * pairs;
  Array<double, 3> y(x.dim(0), x.dim(1), x.dim(2));
  for (int64_t i = 0; i < x.size(); ++i) y.begin()[i] = as_double(x.begin()[i]);
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t i = 0; i < pairs; ++i) {
      const float fp32_angle = static_cast<float>(positions(t)) * frequencies(i);
      const double exact_angle = static_cast<double>(positions(t)) * static_cast<double>(frequencies(i));
      const double angle = form == Form::kDoubleAngle ? exact_angle : static_cast<double>(fp32_angle);
      const double c = std::cos(angle);
      const double s = form == Form::kInverse ? -std::sin(angle) : std::sin(angle);
      const int64_t a = form == Form::kHalfSplit ? first + i : first + 2 * i;
      const int64_t b = form == Form::kHalfSplit ? first + pairs + i : a + 1;
      for (int64_t h = 0; h < x.dim(1); ++h) {
        y(t, h, a) = as_double(x(t, h, a)) * c - as_double(x(t, h, b)) * s;
        y(t, h, b) = as_double(x(t, h, a)) * s + as_double(x(t, h, b)) * c;
      }
    }
  }
  return y;
}

template <class Act>
Array<Act, 3> rope(Array<Act, 3> x, const Array<int64_t, 1>& positions, const Array<float, 1>& frequencies,
                   Rotation rotation = Rotation::kForward) {
  cpu::Context ctx;
  ops::rope<Act>(ctx, x, positions, frequencies, rotation);
  return x;
}

// fp32 cos and sin, two products and a sum of numbers below 8: at most 4 roundings of 2^-24 * 8 each.
constexpr Bound kFp32{.absolute = 0x1p-19};

struct Inputs {
  Array<int64_t, 1> positions;
  Array<float, 1> frequencies;
};

Inputs inputs(int64_t tokens, int64_t pairs) {
  Inputs in{Array<int64_t, 1>(tokens), Array<float, 1>(pairs)};
  for (int64_t t = 0; t < tokens; ++t) in.positions(t) = t % 2 == 0 ? 7 * t : 1000003 - 5 * t;
  for (int64_t i = 0; i < pairs; ++i) {
    in.frequencies(i) = static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs)));
  }
  return in;
}

TYPED_TEST(Rope, TurnsInterleavedPairsOfTheLastDims) {
  Random random(11);
  for (const auto& [tokens, heads, dims, pairs] :
       {std::array{5, 3, 22, 4}, {1, 1, 2, 1}, {3, 2, 64, 32}, {4, 2, 130, 32}, {0, 2, 64, 32}}) {
    const Inputs in = inputs(tokens, pairs);
    Array<TypeParam, 3> x(tokens, heads, dims);
    random.fill_normal(x);
    EXPECT_TRUE(matches(rope(x, in.positions, in.frequencies), defined_rope(x, in.positions, in.frequencies), kFp32))
        << tokens << " x " << heads << " x " << dims << ", " << pairs << " pairs";
  }
}

TYPED_TEST(Rope, InverseTurnsBack) {
  Random random(12);
  const Inputs in = inputs(5, 8);
  Array<TypeParam, 3> x(5, 2, 20);
  random.fill_normal(x);
  const Array<TypeParam, 3> turned = rope(x, in.positions, in.frequencies);
  EXPECT_TRUE(matches(rope(turned, in.positions, in.frequencies, Rotation::kInverse),
                      defined_rope(turned, in.positions, in.frequencies, Form::kInverse), kFp32));
}

TYPED_TEST(Rope, LeavesTheOtherDimsAndPositionZeroAlone) {
  Random random(13);
  Array<TypeParam, 3> x(2, 2, 11);
  random.fill_normal(x);
  const Array<float, 1> frequencies = array_of<float>({1.0f, 0.25f});
  const Array<TypeParam, 3> y = rope(x, array_of<int64_t>({0, 77}), frequencies);
  EXPECT_TRUE(same_bits(copy_rows(y, 0, 1), copy_rows(x, 0, 1)));
  for (int h = 0; h < 2; ++h) {
    for (int c = 0; c < 7; ++c) EXPECT_EQ(as_double(y(1, h, c)), as_double(x(1, h, c)));
  }
}

TYPED_TEST(Rope, ARowDoesNotDependOnTheOthers) {
  Random random(14);
  const Inputs in = inputs(5, 8);
  Array<TypeParam, 3> x(5, 3, 16);
  random.fill_normal(x);
  const Array<TypeParam, 3> all = rope(x, in.positions, in.frequencies);
  for (int t = 0; t < 5; ++t) {
    EXPECT_TRUE(
        same_bits(rope(copy_rows(x, t, 1), copy_rows(in.positions, t, 1), in.frequencies), copy_rows(all, t, 1)));
  }
}

// Angles of the reference's YaRN table: position, frequency, cos, sin.
TEST(Rope, AgreesWithTheReferenceTableAtLargePositions) {
  struct Row {
    int64_t position;
    float frequency;
    double cos;
    double sin;
  };
  for (const Row& row :
       {Row{1000, 0.0236435402f, 0.0815040171, -0.996672988}, Row{100000, 0.000296977785f, -0.146818861, -0.989163399},
        Row{1000000, 5.6805294e-07f, 0.842950046, 0.537991822}}) {
    Array<float, 3> x(1, 1, 2);
    x(0, 0, 0) = 1;
    x(0, 0, 1) = 0;
    const Array<float, 3> y = rope(x, array_of<int64_t>({row.position}), array_of<float>({row.frequency}));
    // The table prints frequencies with 9 digits: the angle may differ by an fp32 ulp of itself, 2^-19 near 30.
    EXPECT_NEAR(as_double(y(0, 0, 0)), row.cos, 2e-6) << row.position;
    EXPECT_NEAR(as_double(y(0, 0, 1)), row.sin, 2e-6) << row.position;
  }
}

// A rank holds some of the heads; what they come to must not depend on how many. A compiler that fuses the two products
// in vector code, but not in the code for a single head, would break this.
TYPED_TEST(Rope, HeadsAloneGiveTheSameBitsAsTogether) {
  Random random(16);
  const int64_t heads = 8, d = 128;
  Array<int64_t, 1> positions(64);
  Array<float, 1> frequencies(32);
  for (int64_t t = 0; t < 64; ++t) positions(t) = 37 * t;
  for (int64_t i = 0; i < 32; ++i) frequencies(i) = std::pow(10000.0f, -static_cast<float>(i) / 32);
  Array<TypeParam, 3> together(64, heads, d);
  random.fill_normal(together);
  const auto all = rope(together, positions, frequencies, Rotation::kInverse);
  for (int64_t h = 0; h < heads; ++h) {
    Array<TypeParam, 3> one(64, 1, d);
    for (int64_t t = 0; t < 64; ++t) {
      for (int64_t c = 0; c < d; ++c) one(t, 0, c) = together(t, h, c);
    }
    const auto alone = rope(one, positions, frequencies, Rotation::kInverse);
    for (int64_t t = 0; t < 64; ++t) {
      for (int64_t c = 0; c < d; ++c) ASSERT_EQ(as_double(alone(t, 0, c)), as_double(all(t, h, c))) << t << " " << h;
    }
  }
}

class RopeNegativeControl : public testing::TestWithParam<Form> {};

TEST_P(RopeNegativeControl, IsSeen) {
  Random random(15);
  const Inputs in = inputs(6, 8);
  Array<bf16, 3> x(6, 2, 40);
  random.fill_normal(x);
  EXPECT_FALSE(
      matches(rope(x, in.positions, in.frequencies), defined_rope(x, in.positions, in.frequencies, GetParam()), kFp32));
}

std::string defect_name(const testing::TestParamInfo<Form>& defect) {
  switch (defect.param) {
    case Form::kReference: return "None";
    case Form::kHalfSplit: return "HalfSplit";
    case Form::kFirstDims: return "FirstDims";
    case Form::kInverse: return "InverseSign";
    case Form::kDoubleAngle: return "AngleInDouble";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Defect, RopeNegativeControl,
                         testing::Values(Form::kHalfSplit, Form::kFirstDims, Form::kInverse, Form::kDoubleAngle),
                         defect_name);

}  // namespace
}  // namespace octet::test
