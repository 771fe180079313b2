// ops::gemm and ops::grouped_gemm: y = x w^T for bf16, fp32 and fp8 weights, against sums in double of the decoded
// operands.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

template <class T>
Array<double, 2> decoded(const Array<T, 2>& w) {
  Array<double, 2> out(w.dim(0), w.dim(1));
  for (int64_t i = 0; i < w.size(); ++i) out.begin()[i] = as_double(w.begin()[i]);
  return out;
}

// y[t, g N + n] = sum_k x[t, g K + k] w[g N + n, k]; one group is the plain product.
Array<double, 2> product(const Array<double, 2>& x, const Array<double, 2>& w, int64_t groups = 1) {
  Array<double, 2> y(x.dim(0), w.dim(0));
  const int64_t group_rows = w.dim(0) / groups;
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t n = 0; n < w.dim(0); ++n) {
      y(t, n) = 0;
      for (int64_t k = 0; k < w.dim(1); ++k) y(t, n) += x(t, n / group_rows * w.dim(1) + k) * w(n, k);
    }
  }
  return y;
}

// An fp32 sum of K products in any fixed order: every partial sum is at most K times the largest product, and each of
// the K additions rounds by 2^-24 of it; random signs make that sqrt(K) * sqrt(K). Twice that, and the distance of an
// fp32 result stays near 2^-48 * K / 4.
template <class Out>
Bound sum_bound(const Array<double, 2>& x, const Array<double, 2>& w) {
  double largest_x = 0;
  double largest_w = 0;
  for (const double v : x) largest_x = std::max(largest_x, std::fabs(v));
  for (const double v : w) largest_w = std::max(largest_w, std::fabs(v));
  const auto k = static_cast<double>(w.dim(1));
  const double one_rounding = half_ulp<Out>(1.0);
  const double many = one_rounding * one_rounding + 0x1p-48 * k;
  const double few = std::numeric_limits<double>::infinity();  // a single result may be small by cancellation
  return {.absolute = 2 * 0x1p-24 * k * largest_x * largest_w, .distance = x.dim(0) * w.dim(0) < 32 ? few : many};
}

struct Fp8 {
  Array<fp8_e4m3, 2> q;
  Array<fp8_e8m0, 2> scale;
  int64_t first_row;
  ops::Fp8Weight view() const { return {q, scale, first_row}; }
};

Fp8 random_fp8(Random& random, int64_t rows, int64_t columns, int64_t first_row = 0) {
  Fp8 w{Array<fp8_e4m3, 2>(rows, columns), Array<fp8_e8m0, 2>((first_row + rows + 127) / 128, columns / 128),
        first_row};
  for (fp8_e4m3& q : w.q) {
    do q.bits = static_cast<uint8_t>(random.integer(0, 255));
    while ((q.bits & 0x7f) == 0x7f);  // NaN codes
  }
  for (fp8_e8m0& s : w.scale) s.bits = static_cast<uint8_t>(random.integer(127 - 12, 127 - 6));
  return w;
}

Array<double, 2> decoded(const Fp8& w, int64_t first_row) {
  Array<double, 2> out(w.q.dim(0), w.q.dim(1));
  for (int64_t n = 0; n < out.dim(0); ++n) {
    for (int64_t k = 0; k < out.dim(1); ++k) {
      out(n, k) = as_double(w.q(n, k)) * as_double(w.scale((first_row + n) / 128, k / 128));
    }
  }
  return out;
}
Array<double, 2> decoded(const Fp8& w) {
  return decoded(w, w.first_row);
}

template <class Out, class Act, class W>
Array<Out, 2> gemm(const Array<Act, 2>& x, const Array<W, 2>& w) {
  cpu::Context ctx;
  Array<Out, 2> y(x.dim(0), w.dim(0));
  ops::gemm<Out, Act>(ctx, y, x.view(), w.view());
  return y;
}
template <class Out, class Act>
Array<Out, 2> gemm(const Array<Act, 2>& x, const Fp8& w) {
  cpu::Context ctx;
  Array<Out, 2> y(x.dim(0), w.q.dim(0));
  ops::gemm<Out, Act>(ctx, y, x.view(), w.view());
  return y;
}

template <class Types>
class Gemm : public testing::Test {};
using OutAndAct = testing::Types<std::pair<bf16, bf16>, std::pair<float, bf16>, std::pair<float, float>>;
TYPED_TEST_SUITE(Gemm, OutAndAct);

TYPED_TEST(Gemm, WithABf16Weight) {
  using Out = typename TypeParam::first_type;
  Random random(51);
  for (const auto& [T, N, K] : {std::array{5, 7, 129}, {1, 1, 1}, {3, 33, 256}, {0, 7, 64}}) {
    Array<typename TypeParam::second_type, 2> x(T, K);
    Array<bf16, 2> w(N, K);
    random.fill_normal(x);
    random.fill_normal(w, 0.1);
    EXPECT_TRUE(matches(gemm<Out>(x, w), product(decoded(x), decoded(w)), sum_bound<Out>(decoded(x), decoded(w))))
        << T << " x " << N << " x " << K;
  }
}

TYPED_TEST(Gemm, WithAnFp32Weight) {
  using Out = typename TypeParam::first_type;
  Random random(52);
  for (const auto& [T, N, K] : {std::array{5, 7, 129}, {1, 1, 1}, {3, 33, 256}, {0, 7, 64}}) {
    Array<typename TypeParam::second_type, 2> x(T, K);
    Array<float, 2> w(N, K);
    random.fill_normal(x);
    random.fill_normal(w, 0.1);
    EXPECT_TRUE(matches(gemm<Out>(x, w), product(decoded(x), decoded(w)), sum_bound<Out>(decoded(x), decoded(w))))
        << T << " x " << N << " x " << K;
  }
}

TYPED_TEST(Gemm, WithAnFp8WeightThatBeginsInsideABlock) {
  using Out = typename TypeParam::first_type;
  Random random(53);
  for (const auto& [T, N, K, first_row] :
       {std::array{5, 131, 256, 0}, {1, 1, 128, 127}, {3, 70, 384, 100}, {0, 128, 128, 0}}) {
    Array<typename TypeParam::second_type, 2> x(T, K);
    random.fill_normal(x);
    const Fp8 w = random_fp8(random, N, K, first_row);
    EXPECT_TRUE(matches(gemm<Out>(x, w), product(decoded(x), decoded(w)), sum_bound<Out>(decoded(x), decoded(w))))
        << T << " x " << N << " x " << K << " from row " << first_row;
  }
}

TYPED_TEST(Gemm, TakesTheCodesOfAQuantisedInput) {
  using Out = typename TypeParam::first_type;
  using Act = typename TypeParam::second_type;
  Random random(54);
  const Fp8 codes = random_fp8(random, 3, 256);  // only its codes: activation scales are one per row and 128 columns
  Array<fp8_e8m0, 2> scale(3, 2);
  for (fp8_e8m0& s : scale) s.bits = static_cast<uint8_t>(random.integer(127 - 12, 127 - 6));
  Array<double, 2> restored(3, 256);
  for (int t = 0; t < 3; ++t) {
    for (int k = 0; k < 256; ++k) restored(t, k) = as_double(codes.q(t, k)) * as_double(scale(t, k / 128));
  }
  const Fp8 w = random_fp8(random, 9, 256);
  const Array<Act, 2> plain(3, 256);  // NaN: must not be read
  cpu::Context ctx;
  Array<Out, 2> y(3, 9);
  ops::gemm<Out, Act>(ctx, y, ops::LinearInput<Act>{plain, codes.q, scale}, w.view());
  EXPECT_TRUE(matches(y, product(restored, decoded(w)), sum_bound<Out>(restored, decoded(w))));

  Array<Act, 2> x(3, 256);
  for (int64_t i = 0; i < x.size(); ++i) x.begin()[i] = Act(static_cast<float>(restored.begin()[i]));  // exact
  ops::gemm<Out, Act>(ctx, y, ops::LinearInput<Act>{x, {}, {}}, w.view());
  EXPECT_TRUE(matches(y, product(restored, decoded(w)), sum_bound<Out>(restored, decoded(w))));
}

TYPED_TEST(Gemm, ARowDoesNotDependOnTheOthers) {
  using Out = typename TypeParam::first_type;
  Random random(55);
  Array<typename TypeParam::second_type, 2> x(9, 384);
  Array<bf16, 2> w(5, 384);
  Array<float, 2> wide(5, 384);
  random.fill_normal(x);
  random.fill_normal(w);
  random.fill_normal(wide);
  const Fp8 fp8 = random_fp8(random, 5, 384);
  const auto all = gemm<Out>(x, w);
  const auto all_wide = gemm<Out>(x, wide);
  const auto all_fp8 = gemm<Out>(x, fp8);
  for (int t = 0; t < 9; ++t) {
    EXPECT_TRUE(same_bits(gemm<Out>(copy_rows(x, t, 1), w), copy_rows(all, t, 1)));
    EXPECT_TRUE(same_bits(gemm<Out>(copy_rows(x, t, 1), wide), copy_rows(all_wide, t, 1)));
    EXPECT_TRUE(same_bits(gemm<Out>(copy_rows(x, t, 1), fp8), copy_rows(all_fp8, t, 1)));
  }
}

TEST(Gemm, PropagatesNan) {
  Random random(56);
  Array<float, 2> x(2, 8);
  Array<bf16, 2> w(3, 8);
  random.fill_normal(x);
  random.fill_normal(w);
  x(0, 5) = std::nanf("");
  EXPECT_TRUE(matches(gemm<float>(x, w), product(decoded(x), decoded(w)),
                      sum_bound<float>(copy_rows(decoded(x), 1, 1), decoded(w))));
}

template <class Act>
class GroupedGemm : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(GroupedGemm, Activations);

TYPED_TEST(GroupedGemm, MultipliesEachGroupByItsOwnRows) {
  Random random(57);
  for (const auto& [T, groups, N, K, first_row] :
       {std::array{5, 3, 50, 128, 0}, {1, 8, 1, 256, 64}, {2, 1, 130, 128, 120}, {0, 2, 128, 128, 0}}) {
    Array<TypeParam, 2> x(T, groups * K);
    random.fill_normal(x);
    const Fp8 w = random_fp8(random, groups * N, K, first_row);
    cpu::Context ctx;
    Array<TypeParam, 2> y(T, groups * N);
    ops::grouped_gemm<TypeParam>(ctx, y, x.view(), w.view(), groups);
    EXPECT_TRUE(matches(y, product(decoded(x), decoded(w), groups), sum_bound<TypeParam>(decoded(x), decoded(w))))
        << T << " rows, " << groups << " groups of " << N << " x " << K;
  }
}

TYPED_TEST(GroupedGemm, ARowDoesNotDependOnTheOthers) {
  Random random(58);
  Array<TypeParam, 2> x(5, 384);
  random.fill_normal(x);
  const Fp8 w = random_fp8(random, 21, 128);
  cpu::Context ctx;
  Array<TypeParam, 2> all(5, 21);
  ops::grouped_gemm<TypeParam>(ctx, all, x.view(), w.view(), 3);
  for (int t = 0; t < 5; ++t) {
    Array<TypeParam, 2> one(1, 21);
    ops::grouped_gemm<TypeParam>(ctx, one, copy_rows(x, t, 1).view(), w.view(), 3);
    EXPECT_TRUE(same_bits(one, copy_rows(all, t, 1)));
  }
}

TEST(GemmNegativeControl, ScaleRowsThatIgnoreFirstRowAreSeen) {
  Random random(59);
  Array<bf16, 2> x(4, 256);
  random.fill_normal(x);
  Fp8 w = random_fp8(random, 70, 256, 100);
  for (int b = 0; b < 2; ++b) w.scale(1, b).bits = static_cast<uint8_t>(w.scale(0, b).bits + 1);
  EXPECT_FALSE(matches(gemm<bf16>(x, w), product(decoded(x), decoded(w, 0)), sum_bound<bf16>(decoded(x), decoded(w))));
}

TEST(GemmNegativeControl, ABf16SumIsSeen) {
  Random random(60);
  Array<bf16, 2> x(4, 256);
  Array<bf16, 2> w(9, 256);
  random.fill_normal(x);
  random.fill_normal(w);
  Array<double, 2> y(4, 9);
  for (int t = 0; t < 4; ++t) {
    for (int n = 0; n < 9; ++n) {
      y(t, n) = 0;
      for (int k = 0; k < 256; ++k) y(t, n) = rounded<bf16>(y(t, n) + as_double(x(t, k)) * as_double(w(n, k)));
    }
  }
  EXPECT_FALSE(matches(gemm<bf16>(x, w), y, sum_bound<bf16>(decoded(x), decoded(w))));
}

}  // namespace
}  // namespace octet::test
