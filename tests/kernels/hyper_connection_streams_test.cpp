// The ops of kernels/hyper_connection.h that read or write the streams themselves: expansion, mixes, the weighted sum
// before a sub-layer and the update after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/context.h"
#include "kernels/hyper_connection.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

constexpr float kEps = 1e-6f;
// Five products of numbers below 8 summed in fp32.
constexpr Bound kFp32{.relative = 1e-6, .absolute = 0x1p-19};

template <class Act>
class HcStreams : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(HcStreams, Activations);

enum class Form { kReference, kTransposed, kDimMajor, kWithoutFactor };

template <class Act>
Array<double, 2> defined_mixes(const Array<Act, 3>& h, const Array<float, 2>& fn, Form form = Form::kReference) {
  const int64_t hc = h.dim(1);
  const int64_t D = h.dim(2);
  Array<double, 2> mixes(h.dim(0), fn.dim(0));
  for (int64_t t = 0; t < h.dim(0); ++t) {
    double squares = 0;
    for (int64_t i = 0; i < hc; ++i) {
      for (int64_t c = 0; c < D; ++c) squares += as_double(h(t, i, c)) * as_double(h(t, i, c));
    }
    const double factor = 1 / std::sqrt(squares / static_cast<double>(hc * D) + static_cast<double>(kEps));
    for (int64_t k = 0; k < fn.dim(0); ++k) {
      double dot = 0;
      for (int64_t i = 0; i < hc; ++i) {
        for (int64_t c = 0; c < D; ++c) {
          dot += as_double(fn(k, form == Form::kDimMajor ? c * hc + i : i * D + c)) * as_double(h(t, i, c));
        }
      }
      mixes(t, k) = form == Form::kWithoutFactor ? dot : dot * factor;
    }
  }
  return mixes;
}

template <class Act>
Array<float, 2> mixes_of(const Array<Act, 3>& h, const Array<float, 2>& fn) {
  cpu::Context ctx;
  Array<float, 2> mixes(h.dim(0), fn.dim(0));
  ops::hc_mixes<Act>(ctx, mixes, h, fn, kEps);
  return mixes;
}

template <class Act>
Array<Act, 2> weighted_sum(const Array<Act, 3>& h, const Array<float, 2>& pre) {
  cpu::Context ctx;
  Array<Act, 2> y(h.dim(0), h.dim(2));
  ops::hc_weighted_sum<Act>(ctx, y, h, pre);
  return y;
}

template <class Act>
Array<double, 2> defined_weighted_sum(const Array<Act, 3>& h, const Array<float, 2>& pre) {
  Array<double, 2> y(h.dim(0), h.dim(2));
  y.fill(0);
  for (int64_t t = 0; t < h.dim(0); ++t) {
    for (int64_t i = 0; i < h.dim(1); ++i) {
      for (int64_t c = 0; c < h.dim(2); ++c) y(t, c) += as_double(pre(t, i)) * as_double(h(t, i, c));
    }
  }
  return y;
}

template <class Act>
struct Update {
  Array<Act, 3> h;
  Array<Act, 2> x;
  Array<float, 2> post;
  Array<float, 3> comb;
};

template <class Act>
Update<Act> random_update(Random& random, int64_t T, int64_t hc, int64_t D) {
  Update<Act> u{Array<Act, 3>(T, hc, D), Array<Act, 2>(T, D), Array<float, 2>(T, hc), Array<float, 3>(T, hc, hc)};
  random.fill_normal(u.h);
  random.fill_normal(u.x);
  for (float& p : u.post) p = static_cast<float>(random.uniform(0, 2));
  for (float& c : u.comb) c = static_cast<float>(random.uniform(0, 1));
  return u;
}

template <class Act>
Array<Act, 3> post(Update<Act> u) {
  cpu::Context ctx;
  ops::hc_post<Act>(ctx, u.h, u.x, u.post, u.comb);
  return u.h;
}

template <class Act>
Array<double, 3> defined_post(const Update<Act>& u, Form form = Form::kReference) {
  Array<double, 3> y(u.h.dim(0), u.h.dim(1), u.h.dim(2));
  for (int64_t t = 0; t < y.dim(0); ++t) {
    for (int64_t j = 0; j < y.dim(1); ++j) {
      for (int64_t c = 0; c < y.dim(2); ++c) {
        y(t, j, c) = as_double(u.post(t, j)) * as_double(u.x(t, c));
        for (int64_t i = 0; i < y.dim(1); ++i) {
          const float comb = form == Form::kTransposed ? u.comb(t, j, i) : u.comb(t, i, j);
          y(t, j, c) += as_double(comb) * as_double(u.h(t, i, c));
        }
      }
    }
  }
  return y;
}

TYPED_TEST(HcStreams, ExpandCopiesTheTokenToEveryStream) {
  Random random(81);
  for (const auto& [T, D] : {std::pair{3, 13}, {1, 1}, {0, 8}}) {
    Array<TypeParam, 2> x(T, D);
    random.fill_normal(x);
    Array<TypeParam, 3> h(T, 4, D);
    cpu::Context ctx;
    ops::hc_expand<TypeParam>(ctx, h, x);
    Array<double, 3> want(T, 4, D);
    for (int64_t i = 0; i < want.size(); ++i) want.begin()[i] = as_double(x(i / (4 * D), i % D));
    EXPECT_EQ(distance(h, want), 0);
    EXPECT_TRUE(matches(h, want, {}));
  }
}

TYPED_TEST(HcStreams, MixesAreDotProductsTimesTheReciprocalNorm) {
  Random random(82);
  for (const auto& [T, hc, D, M] : {std::array{5, 4, 67, 24}, {1, 4, 16, 4}, {2, 2, 33, 8}, {0, 4, 8, 24}}) {
    Array<TypeParam, 3> h(T, hc, D);
    Array<float, 2> fn(M, hc * D);
    random.fill_normal(h, 5);
    random.fill_normal(fn, 0.1);
    // 268 products of about 0.1 in units of the norm: an fp32 sum is good to 2^-24 * 268 * 0.1 * 3 * 3 at worst.
    EXPECT_TRUE(matches(mixes_of(h, fn), defined_mixes(h, fn), {.absolute = 2e-5, .distance = 1e-12})) << T << hc << D;
  }
}

TYPED_TEST(HcStreams, WeightedSumRoundsOnce) {
  Random random(83);
  for (const auto& [T, hc, D] : {std::array{5, 4, 67}, {1, 4, 1}, {3, 2, 16}, {0, 4, 8}}) {
    Array<TypeParam, 3> h(T, hc, D);
    Array<float, 2> pre(T, hc);
    random.fill_normal(h);
    for (float& p : pre) p = static_cast<float>(random.uniform());
    EXPECT_TRUE(matches(weighted_sum(h, pre), defined_weighted_sum(h, pre), kFp32));
    EXPECT_TRUE(
        same_rounding(weighted_sum(h, pre), defined_weighted_sum(h, pre), std::is_same_v<TypeParam, bf16> ? 0.01 : 1));
  }
}

TYPED_TEST(HcStreams, PostMixesTheOldStreamsAndAddsTheOutput) {
  Random random(84);
  for (const auto& [T, hc, D] : {std::array{5, 4, 67}, {1, 4, 1}, {3, 2, 16}, {0, 4, 8}}) {
    const Update<TypeParam> u = random_update<TypeParam>(random, T, hc, D);
    EXPECT_TRUE(matches(post(u), defined_post(u), kFp32));
    EXPECT_TRUE(same_rounding(post(u), defined_post(u), std::is_same_v<TypeParam, bf16> ? 0.01 : 1));
  }
}

TYPED_TEST(HcStreams, ATokenDoesNotDependOnTheOthers) {
  Random random(85);
  const Update<TypeParam> u = random_update<TypeParam>(random, 5, 4, 33);
  Array<float, 2> fn(24, 4 * 33);
  random.fill_normal(fn, 0.1);
  const Array<float, 2> all_mixes = mixes_of(u.h, fn);
  const Array<TypeParam, 2> all_sums = weighted_sum(u.h, u.post);
  const Array<TypeParam, 3> all_posts = post(u);
  for (int t = 0; t < 5; ++t) {
    const Update<TypeParam> one{copy_rows(u.h, t, 1), copy_rows(u.x, t, 1), copy_rows(u.post, t, 1),
                                copy_rows(u.comb, t, 1)};
    EXPECT_TRUE(same_bits(mixes_of(one.h, fn), copy_rows(all_mixes, t, 1)));
    EXPECT_TRUE(same_bits(weighted_sum(one.h, one.post), copy_rows(all_sums, t, 1)));
    EXPECT_TRUE(same_bits(post(one), copy_rows(all_posts, t, 1)));
  }
}

TEST(HcStreamsNegativeControl, ContractingTheSecondIndexIsSeen) {
  Random random(86);
  const Update<bf16> u = random_update<bf16>(random, 2, 4, 16);
  EXPECT_FALSE(matches(post(u), defined_post(u, Form::kTransposed), kFp32));
}

TEST(HcStreamsNegativeControl, ADimMajorOrderAndAMissingFactorAreSeen) {
  Random random(87);
  Array<bf16, 3> h(2, 4, 16);
  Array<float, 2> fn(24, 64);
  random.fill_normal(h, 5);
  random.fill_normal(fn, 0.1);
  const Bound bound{.absolute = 2e-5, .distance = 1e-12};
  EXPECT_FALSE(matches(mixes_of(h, fn), defined_mixes(h, fn, Form::kDimMajor), bound));
  EXPECT_FALSE(matches(mixes_of(h, fn), defined_mixes(h, fn, Form::kWithoutFactor), bound));
}

}  // namespace
}  // namespace octet::test
