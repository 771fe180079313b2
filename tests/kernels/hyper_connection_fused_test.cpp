// The fused forms around the streams: an int8 sum as input, the folded sum of squares, the mix that takes it, and the
// first layer's expansion. On the CPU each equals the plain ops it stands for, to the bit.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/context.h"
#include "kernels/hyper_connection.h"
#include "kernels/quant.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

constexpr float kEps = 1e-6f;
constexpr int64_t kTokens = 7, kStreams = 4, kWidth = 96;

template <class Act>
class HcFused : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(HcFused, Activations);

/// One border: the streams, an int8 sum with its decoded values, and the coefficients.
template <class Act>
struct Case {
  Array<Act, 3> h{kTokens, kStreams, kWidth};
  Array<int8_t, 2> q{kTokens, kWidth};
  Array<bf16, 2> scale{kTokens, kWidth / int8::kBlock};
  Array<float, 2> decoded{kTokens, kWidth};
  Array<float, 2> post{kTokens, kStreams};
  Array<float, 3> comb{kTokens, kStreams, kStreams};

  explicit Case(Random& random) {
    random.fill_normal(h, 2);
    random.fill_normal(decoded, 3);
    cpu::Context ctx;
    ops::quantise_int8(ctx, rows(), decoded);
    ops::dequantise_int8(ctx, decoded, rows());
    for (float& v : post) v = static_cast<float>(random.uniform(0, 2));
    for (float& v : comb) v = static_cast<float>(random.uniform(0, 0.5));
  }
  int8::Rows rows() { return {q.view(), scale.view()}; }
};

/// fp32 streams from which the definition of a post rounds once.
template <class Act>
Array<float, 3> widened(const Array<Act, 3>& h) {
  Array<float, 3> wide(h.dim(0), h.dim(1), h.dim(2));
  std::transform(h.begin(), h.end(), wide.begin(), [](Act v) { return static_cast<float>(v); });
  return wide;
}
template <class Act>
Array<Act, 3> narrowed(const Array<float, 3>& h) {
  Array<Act, 3> narrow(h.dim(0), h.dim(1), h.dim(2));
  std::transform(h.begin(), h.end(), narrow.begin(), [](float v) { return Act(v); });
  return narrow;
}

TYPED_TEST(HcFused, PostTakesCodesAsTheirDecodedValuesInFp32) {
  Random random(11);
  Case<TypeParam> c(random);
  cpu::Context ctx;
  Array<float, 3> want = widened(c.h);
  ops::hc_post<float>(ctx, want, Mat<const float>(c.decoded.view()), c.post, c.comb);
  ops::hc_post<TypeParam>(ctx, c.h, c.rows(), c.post, c.comb);
  EXPECT_TRUE(same_bits(c.h, narrowed<TypeParam>(want)));
}

TYPED_TEST(HcFused, ANaNScaleReachesTheStreams) {
  Random random(12);
  Case<TypeParam> c(random);
  c.scale(2, 1) = bf16(NAN);
  cpu::Context ctx;
  ops::hc_post<TypeParam>(ctx, c.h, c.rows(), c.post, c.comb);
  for (int64_t d = 0; d < kWidth; ++d) {
    EXPECT_EQ(std::isnan(as_double(c.h(2, 0, d))), d >= int8::kBlock && d < 2 * int8::kBlock) << d;
  }
}

template <class Act, class X>
void expect_sqrsum_is_a_pass_over_the_stored_streams(Case<Act>& c, const X& x) {
  cpu::Context ctx;
  Array<Act, 3> plain = c.h;
  ops::hc_post<Act>(ctx, plain, x, c.post, c.comb);
  Array<float, 1> squares(kTokens);
  ops::hc_post_sqrsum(ctx, squares.view(), c.h.view(), x, c.post, c.comb);
  EXPECT_TRUE(same_bits(c.h, plain));
  for (int64_t t = 0; t < kTokens; ++t) {
    double want = 0;
    for (const Act v : plain.view()[t]) want += as_double(v) * as_double(v);
    EXPECT_NEAR(static_cast<double>(squares(t)), want, 1e-6 * want);
  }
}

TYPED_TEST(HcFused, SqrsumLeavesThePostsBitsAndSumsTheRoundedSquares) {
  Random random(13);
  Case<TypeParam> rows(random), codes(random);
  Array<TypeParam, 2> x(kTokens, kWidth);
  random.fill_normal(x);
  expect_sqrsum_is_a_pass_over_the_stored_streams(rows, Mat<const TypeParam>(x.view()));
  expect_sqrsum_is_a_pass_over_the_stored_streams(codes, codes.rows());
}

TYPED_TEST(HcFused, MixesFromTheFoldedSquaresAreThePlainBits) {
  Random random(14);
  Case<TypeParam> c(random);
  Array<float, 2> fn(6, kStreams * kWidth), plain(kTokens, 6), folded(kTokens, 6);
  random.fill_normal(fn, 0.1);
  cpu::Context ctx;
  Array<float, 1> squares(kTokens);
  ops::hc_post_sqrsum(ctx, squares.view(), c.h.view(), c.rows(), c.post, c.comb);
  ops::hc_mixes<TypeParam>(ctx, plain, c.h, fn, kEps);
  ops::hc_mixes<TypeParam>(ctx, folded, c.h, squares, fn, kEps);
  EXPECT_TRUE(same_bits(plain, folded));

  squares(3) *= 1.01f;  // the negative control: the squares given are the squares used
  ops::hc_mixes<TypeParam>(ctx, folded, c.h, squares, fn, kEps);
  EXPECT_FALSE(same_bits(plain, folded));
}

TYPED_TEST(HcFused, ExpandMixesIsExpandThenMixes) {
  Random random(15);
  Array<TypeParam, 2> x(kTokens, kWidth);
  random.fill_normal(x);
  Array<float, 2> fn(6, kStreams * kWidth), plain(kTokens, 6), fused(kTokens, 6);
  random.fill_normal(fn, 0.1);
  Array<TypeParam, 3> h(kTokens, kStreams, kWidth), fused_h(kTokens, kStreams, kWidth);
  cpu::Context ctx;
  ops::hc_expand<TypeParam>(ctx, h, x);
  ops::hc_mixes<TypeParam>(ctx, plain, h, fn, kEps);
  ops::hc_expand_mixes<TypeParam>(ctx, fused_h, fused, x, fn, kEps);
  EXPECT_TRUE(same_bits(h, fused_h));
  EXPECT_TRUE(same_bits(plain, fused));
}

TEST(HcFusedNegativeControl, CodesWithoutTheirScalesAreSeen) {
  Random random(16);
  Case<float> c(random);
  cpu::Context ctx;
  Array<float, 3> want = c.h, wrong = c.h;
  ops::hc_post<float>(ctx, want, c.rows(), c.post, c.comb);
  Array<bf16, 2> ones(kTokens, kWidth / int8::kBlock);
  for (bf16& s : ones) s = bf16(1.0f);
  ops::hc_post<float>(ctx, wrong, int8::Rows{c.q.view(), ones.view()}, c.post, c.comb);
  EXPECT_FALSE(same_bits(want, wrong));
}

}  // namespace
}  // namespace octet::test
