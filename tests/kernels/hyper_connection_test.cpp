// The mixing of the residual streams (kernels/hyper_connection.h) against its equations in double, and the reference's
// unit vector of the Sinkhorn split.
#include "kernels/hyper_connection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

constexpr int kHc = 4;
constexpr float kEps = 1e-6f;
// A few fp32 operations on numbers of order one; Sinkhorn contracts, so its 40 divisions do not add up.
constexpr Bound kFp32{.relative = 2e-6, .absolute = 2e-7};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

template <class Act>
class HyperConnection : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(HyperConnection, Activations);

struct Split {
  Array<float, 2> pre, post;
  Array<float, 3> comb;
};
struct DefinedSplit {
  Array<double, 2> pre, post;
  Array<double, 3> comb;
};

Split split(const Array<float, 2>& mixes, const Array<float, 1>& scale, const Array<float, 1>& base, int iters) {
  cpu::Context ctx;
  const int64_t T = mixes.dim(0);
  Split s{Array<float, 2>(T, kHc), Array<float, 2>(T, kHc), Array<float, 3>(T, kHc, kHc)};
  ops::hc_split_sinkhorn(ctx, s.pre, s.post, s.comb, mixes, {{}, scale, base}, iters, kEps);
  return s;
}

enum class Form { kReference, kNoEps, kRowsLast };

void normalise(Array<double, 3>& c, int64_t t, bool rows, double eps) {
  for (int a = 0; a < kHc; ++a) {
    double sum = 0;
    for (int b = 0; b < kHc; ++b) sum += rows ? c(t, a, b) : c(t, b, a);
    for (int b = 0; b < kHc; ++b) (rows ? c(t, a, b) : c(t, b, a)) /= sum + eps;
  }
}

DefinedSplit defined_split(const Array<float, 2>& mixes, const Array<float, 1>& scale, const Array<float, 1>& base,
                           int iters, Form form = Form::kReference) {
  const int64_t T = mixes.dim(0);
  const double eps = form == Form::kNoEps ? 0 : static_cast<double>(kEps);
  DefinedSplit s{Array<double, 2>(T, kHc), Array<double, 2>(T, kHc), Array<double, 3>(T, kHc, kHc)};
  for (int64_t t = 0; t < T; ++t) {
    const auto m = [&](int k, int part) {
      return as_double(mixes(t, k)) * as_double(scale(part)) + as_double(base(k));
    };
    for (int i = 0; i < kHc; ++i) {
      s.pre(t, i) = sigmoid(m(i, 0)) + eps;
      s.post(t, i) = 2 * sigmoid(m(kHc + i, 1));
      double sum = 0;
      for (int j = 0; j < kHc; ++j) sum += std::exp(m(2 * kHc + kHc * i + j, 2));
      for (int j = 0; j < kHc; ++j) s.comb(t, i, j) = std::exp(m(2 * kHc + kHc * i + j, 2)) / sum + eps;
    }
    normalise(s.comb, t, /*rows=*/false, eps);
    for (int n = 1; n < iters; ++n) {
      normalise(s.comb, t, /*rows=*/form != Form::kRowsLast, eps);
      normalise(s.comb, t, /*rows=*/form == Form::kRowsLast, eps);
    }
  }
  return s;
}

struct SplitInputs {
  Array<float, 2> mixes;
  Array<float, 1> scale, base;
};

SplitInputs random_split_inputs(Random& random, int64_t tokens) {
  SplitInputs in{Array<float, 2>(tokens, 24), array_of<float>({0.5f, 0.25f, 2.0f}), Array<float, 1>(24)};
  random.fill_normal(in.mixes, 1.5);
  random.fill_normal(in.base, 0.3);
  return in;
}

SplitInputs unit_vector() {
  SplitInputs in{Array<float, 2>(1, 24), array_of<float>({0.5f, 0.25f, 2.0f}), Array<float, 1>(24)};
  for (int k = 0; k < 24; ++k) {
    in.mixes(0, k) = static_cast<float>(1.5 * std::sin(0.7 * k));
    in.base(k) = static_cast<float>(0.1 * ((5 * k) % 7) - 0.3);
  }
  return in;
}

// Printed with 7 decimals.
constexpr Bound kPrinted{.relative = 1e-6, .absolute = 1.5e-7};

TEST(HcSplit, AgreesWithTheUnitVector) {
  const SplitInputs in = unit_vector();
  const Split got = split(in.mixes, in.scale, in.base, 20);
  EXPECT_TRUE(matches(got.pre, matrix_of<double>({{0.4255585, 0.6644453, 0.6767973, 0.6100236}}), kPrinted));
  EXPECT_TRUE(matches(got.post, matrix_of<double>({{1.2096548, 0.9842295, 0.7897620, 0.6777016}}), kPrinted));
  const double comb[16] = {0.0059785, 0.1022233, 0.4336983, 0.4579112, 0.6524023, 0.3202393, 0.0254596, 0.0021348,
                           0.0064174, 0.0463827, 0.4102764, 0.5367079, 0.3352008, 0.5311537, 0.1305648, 0.0032452};
  Array<double, 3> want(1, 4, 4);
  for (int i = 0; i < 16; ++i) want.begin()[i] = comb[i];
  EXPECT_TRUE(matches(got.comb, want, kPrinted));
}

TEST(HcSplit, OneIterationIsASoftmaxAndOneColumnNormalisation) {
  const SplitInputs in = unit_vector();
  const double softmax[16] = {0.0055246, 0.0316044, 0.1765826, 0.7862925, 0.8421060, 0.1382981, 0.0144796, 0.0051203,
                              0.0053477, 0.0129317, 0.1506402, 0.8310843, 0.5814753, 0.3082738, 0.0997942, 0.0104607};
  Array<double, 3> want(1, 4, 4);
  for (int i = 0; i < 16; ++i) want.begin()[i] = softmax[i];
  normalise(want, 0, /*rows=*/false, 1e-6);
  EXPECT_TRUE(matches(split(in.mixes, in.scale, in.base, 1).comb, want, {.relative = 2e-5, .absolute = 1e-7}));
}

TEST(HcSplit, AgreesWithItsDefinitionForAnyNumberOfTokens) {
  Random random(71);
  for (const int tokens : {0, 1, 7}) {
    const SplitInputs in = random_split_inputs(random, tokens);
    const Split got = split(in.mixes, in.scale, in.base, 20);
    const DefinedSplit want = defined_split(in.mixes, in.scale, in.base, 20);
    EXPECT_TRUE(matches(got.pre, want.pre, kFp32));
    EXPECT_TRUE(matches(got.post, want.post, kFp32));
    EXPECT_TRUE(matches(got.comb, want.comb, kFp32));
  }
}

TEST(HcSplit, SurvivesExtremeMixes) {
  SplitInputs in = unit_vector();
  for (int k = 0; k < 24; ++k) in.mixes(0, k) = k % 3 == 0 ? 300.0f : -300.0f;
  const Split got = split(in.mixes, in.scale, in.base, 20);
  for (const float c : got.comb) EXPECT_TRUE(std::isfinite(c));
  for (int j = 0; j < kHc; ++j) {
    EXPECT_NEAR(got.comb(0, 0, j) + got.comb(0, 1, j) + got.comb(0, 2, j) + got.comb(0, 3, j), 1, 1e-5);
  }
}

TEST(HcSplit, ATokenDoesNotDependOnTheOthers) {
  Random random(72);
  const SplitInputs in = random_split_inputs(random, 5);
  const Split all = split(in.mixes, in.scale, in.base, 20);
  for (int t = 0; t < 5; ++t) {
    const Split one = split(copy_rows(in.mixes, t, 1), in.scale, in.base, 20);
    EXPECT_TRUE(same_bits(one.pre, copy_rows(all.pre, t, 1)));
    EXPECT_TRUE(same_bits(one.post, copy_rows(all.post, t, 1)));
    EXPECT_TRUE(same_bits(one.comb, copy_rows(all.comb, t, 1)));
  }
}

TEST(HcSplitNegativeControl, ATransposedMatrixMissingEpsAndRowsLastAreSeen) {
  Random random(73);
  const SplitInputs in = random_split_inputs(random, 5);
  const Split got = split(in.mixes, in.scale, in.base, 20);
  const DefinedSplit right = defined_split(in.mixes, in.scale, in.base, 20);
  Array<double, 3> transposed = right.comb;
  for (int64_t t = 0; t < 5; ++t) {
    for (int i = 0; i < kHc; ++i) {
      for (int j = 0; j < kHc; ++j) transposed(t, i, j) = right.comb(t, j, i);
    }
  }
  EXPECT_FALSE(matches(got.comb, transposed, kFp32));
  EXPECT_FALSE(matches(got.comb, defined_split(in.mixes, in.scale, in.base, 20, Form::kRowsLast).comb, kFp32));
  EXPECT_FALSE(matches(got.comb, defined_split(in.mixes, in.scale, in.base, 19).comb, kFp32));
  EXPECT_FALSE(matches(got.pre, defined_split(in.mixes, in.scale, in.base, 20, Form::kNoEps).pre, kFp32));
}

TEST(HcHead, GatesAreSigmoidsPlusEpsAndMayOverwriteTheMixes) {
  Random random(74);
  Array<float, 2> mixes(5, kHc);
  random.fill_normal(mixes, 2);
  const Array<float, 1> scale = array_of<float>({0.75f});
  const Array<float, 1> base = array_of<float>({0.1f, -0.2f, 0.3f, -20.0f});
  Array<double, 2> want(5, kHc);
  for (int t = 0; t < 5; ++t) {
    for (int i = 0; i < kHc; ++i) want(t, i) = sigmoid(as_double(mixes(t, i)) * 0.75 + as_double(base(i))) + 1e-6;
  }
  cpu::Context ctx;
  Array<float, 2> apart(5, kHc);
  ops::hc_head_gates(ctx, apart, mixes, {{}, scale, base}, kEps);
  EXPECT_TRUE(matches(apart, want, {.relative = 1e-6}));
  ops::hc_head_gates(ctx, mixes, mixes, {{}, scale, base}, kEps);
  EXPECT_TRUE(same_bits(mixes, apart));
}

}  // namespace
}  // namespace octet::test
