// ops::rms_norm and ops::head_rms_norm against their definitions: the first in double with one rounding, the second
// with a rounding after every elementary operation.
#include "kernels/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

constexpr float kEps = 1e-6f;
// Sum of up to 512 positive fp32 squares, one rsqrt and two products: a few fp32 roundings, and the sum's random walk.
constexpr Bound kFp32{.relative = 2e-6};

template <class Act>
class Norm : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Norm, Activations);

template <class Act>
Array<double, 2> defined_rms_norm(const Array<Act, 2>& x, const Array<bf16, 1>& w, double added_to_weight = 0) {
  Array<double, 2> y(x.dim(0), x.dim(1));
  for (int64_t t = 0; t < x.dim(0); ++t) {
    double squares = 0;
    for (int64_t c = 0; c < x.dim(1); ++c) squares += as_double(x(t, c)) * as_double(x(t, c));
    const double factor = 1 / std::sqrt(squares / static_cast<double>(x.dim(1)) + static_cast<double>(kEps));
    for (int64_t c = 0; c < x.dim(1); ++c) y(t, c) = (as_double(w(c)) + added_to_weight) * as_double(x(t, c)) * factor;
  }
  return y;
}

template <class Act>
Array<Act, 2> rms_norm(const Array<Act, 2>& x, const Array<bf16, 1>& w) {
  cpu::Context ctx;
  Array<Act, 2> y(x.dim(0), x.dim(1));
  ops::rms_norm<Act>(ctx, y, x, w, kEps);
  return y;
}

// Every elementary operation rounded to Act. Where the sum of t1 is exact in fp32, so is every bit of the result.
template <class Act>
Array<double, 2> defined_head_rms_norm(const Array<Act, 2>& q, bool round_between = true) {
  const auto act = [&](double v) { return round_between ? rounded<Act>(v) : v; };
  Array<double, 2> y(q.dim(0), q.dim(1));
  for (int64_t r = 0; r < q.dim(0); ++r) {
    double sum = 0;
    for (int64_t c = 0; c < q.dim(1); ++c) sum += act(as_double(q(r, c)) * as_double(q(r, c)));
    const double mean = act(sum / static_cast<double>(q.dim(1)));
    const double factor = act(1 / std::sqrt(act(mean + static_cast<double>(kEps))));
    for (int64_t c = 0; c < q.dim(1); ++c) y(r, c) = rounded<Act>(as_double(q(r, c)) * factor);
  }
  return y;
}

template <class Act>
Array<Act, 2> head_rms_norm(Array<Act, 2> q) {
  cpu::Context ctx;
  ops::head_rms_norm<Act>(ctx, q, kEps);
  return q;
}

TYPED_TEST(Norm, RmsNormScalesToUnitMeanSquareThenByTheWeight) {
  Random random(1);
  for (const auto& [rows, columns] : {std::pair{5, 67}, {1, 1}, {3, 512}, {0, 64}}) {
    Array<TypeParam, 2> x(rows, columns);
    Array<bf16, 1> w(columns);
    random.fill_normal(x, 3);
    random.fill_normal(w);
    EXPECT_TRUE(matches(rms_norm(x, w), defined_rms_norm(x, w), kFp32)) << rows << " x " << columns;
  }
}

TYPED_TEST(Norm, RmsNormAddsEpsToTheMeanSquare) {
  Array<TypeParam, 2> x(2, 4);
  x.fill(TypeParam(0.0009765625f));  // mean square 2^-20, about eps
  for (int c = 0; c < 4; ++c) x(1, c) = TypeParam(0.0f);
  const Array<bf16, 1> w = array_of<bf16>({bf16(1.0f), bf16(2.0f), bf16(-1.0f), bf16(0.5f)});
  EXPECT_TRUE(matches(rms_norm(x, w), defined_rms_norm(x, w), kFp32));
}

TYPED_TEST(Norm, RmsNormMayWriteOverItsInput) {
  Random random(2);
  Array<TypeParam, 2> x(3, 65);
  Array<bf16, 1> w(65);
  random.fill_normal(x);
  random.fill_normal(w);
  const Array<TypeParam, 2> apart = rms_norm(x, w);
  cpu::Context ctx;
  ops::rms_norm<TypeParam>(ctx, x, x, w, kEps);
  EXPECT_TRUE(same_bits(x, apart));
}

TYPED_TEST(Norm, ARowDoesNotDependOnTheOthers) {
  Random random(3);
  Array<TypeParam, 2> x(7, 65);
  Array<bf16, 1> w(65);
  random.fill_normal(x);
  random.fill_normal(w);
  const Array<TypeParam, 2> all = rms_norm(x, w);
  const Array<TypeParam, 2> all_heads = head_rms_norm(x);
  for (int t = 0; t < 7; ++t) {
    EXPECT_TRUE(same_bits(rms_norm(copy_rows(x, t, 1), w), copy_rows(all, t, 1)));
    EXPECT_TRUE(same_bits(head_rms_norm(copy_rows(x, t, 1)), copy_rows(all_heads, t, 1)));
  }
}

TYPED_TEST(Norm, HeadRmsNormRoundsEveryElementaryOperation) {
  Random random(4);
  for (const int columns : {1, 16, 128, 512}) {  // powers of two: the mean is exact
    Array<TypeParam, 2> q(9, columns);
    random.fill_integers(q, -40, 40, 0.125);
    for (int c = 0; c < columns; ++c) q(3, c) = TypeParam(0.0f);
    // bf16: bits. float: 1 / sqrt may be one ulp from the rounded exact value, and then so may the product.
    const double ulp = std::is_same_v<TypeParam, bf16> ? 0 : 0x1p-22;
    const Array<TypeParam, 2> got = head_rms_norm(q);
    EXPECT_TRUE(same_rounding(got, defined_head_rms_norm(q), ulp == 0 ? 0 : 1)) << columns;
    EXPECT_TRUE(matches(got, defined_head_rms_norm(q), {.relative = ulp})) << columns;
  }
}

TYPED_TEST(Norm, HeadRmsNormTakesNoRows) {
  EXPECT_EQ(head_rms_norm(Array<TypeParam, 2>(0, 128)).size(), 0);
}

TEST(NormNegativeControl, AddingOneToTheWeightIsSeen) {
  Random random(5);
  Array<bf16, 2> x(3, 64);
  Array<bf16, 1> w(64);
  random.fill_normal(x);
  random.fill_normal(w);
  EXPECT_FALSE(matches(rms_norm(x, w), defined_rms_norm(x, w, 1), kFp32));
}

TEST(NormNegativeControl, RoundingTheHeadNormOnlyOnceIsSeen) {
  Random random(6);
  Array<bf16, 2> q(64, 128);
  random.fill_integers(q, -40, 40, 0.125);
  EXPECT_FALSE(same_rounding(head_rms_norm(q), defined_head_rms_norm(q, /*round_between=*/false), 0.02));
}

}  // namespace
}  // namespace octet::test
