// The experts themselves (kernels/moe.h): SwiGLU, the grouped products through fp4 weights, and the sum of the outputs.
// Inputs are small integers times powers of two: the fp32 sums are exact, so each prescribed rounding shows bit by bit.
#include "kernels/moe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

constexpr int kExperts = 5;
constexpr float kLimit = 10;
// silu by fp32 exp, two products.
constexpr Bound kFp32{.relative = 2e-6};

template <class Act>
class Experts : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Experts, Activations);

double swiglu(double gate, double up, double weight, double limit = kLimit) {
  const double g = std::min(gate, limit);
  return weight * (g / (1 + std::exp(-g))) * std::clamp(up, -limit, limit);
}

struct Fp4 {
  Array<fp4x2, 2> q;
  Array<fp8_e8m0, 2> scale;
};

struct Fp4Set {
  std::vector<Fp4> experts;
  std::vector<ops::Fp4Weight> views;
  Vec<const ops::Fp4Weight> view() const { return {views.data(), views.size()}; }
};

Fp4Set random_fp4(Random& random, int64_t rows, int64_t columns) {
  Fp4Set set;
  for (int e = 0; e < kExperts; ++e) {
    Fp4 w{Array<fp4x2, 2>(rows, columns / 2), Array<fp8_e8m0, 2>(rows, columns / 32)};
    for (fp4x2& q : w.q) q.bits = static_cast<uint8_t>(random.integer(0, 255));
    for (fp8_e8m0& s : w.scale) s.bits = static_cast<uint8_t>(random.integer(127 - 5, 127 - 3));
    set.experts.push_back(std::move(w));
  }
  for (const Fp4& w : set.experts) set.views.push_back({w.q, w.scale});
  return set;
}

double value(const Fp4& w, int64_t n, int64_t k, bool high_nibble_first = false) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  const int byte = w.q(n, k / 2).bits;
  const bool low = (k % 2 == 0) != high_nibble_first;
  return kValues[low ? byte & 15 : byte >> 4] * std::exp2(w.scale(n, k / 32).bits - 127);
}

// Pairs in expert order over `tokens` tokens: expert 1 has none, expert 0 all, expert 4 only the last.
struct Pairs {
  std::vector<int32_t> token;
  std::vector<float> weight;
  std::vector<int64_t> offset;
  std::vector<int> expert;
  ops::ExpertGroups view() {
    return {{token.data(), token.size()}, {weight.data(), weight.size()}, {offset.data(), offset.size()}};
  }
};

Pairs pairs_of(int32_t tokens) {
  Pairs p;
  p.offset.push_back(0);
  for (int e = 0; e < kExperts; ++e) {
    for (int32_t t = 0; t < tokens; ++t) {
      if (e == 1 || (e == 2 && t % 2 == 1) || (e == 3 && t % 2 == 0) || (e == 4 && t + 1 != tokens)) continue;
      p.token.push_back(t);
      p.weight.push_back(static_cast<float>(e + 1) * 0.25f + static_cast<float>(t) * 0.125f);
      p.expert.push_back(e);
    }
    p.offset.push_back(static_cast<int64_t>(p.token.size()));
  }
  return p;
}

template <class Act>
Array<Act, 2> up(const Array<Act, 2>& z, Pairs pairs, const Fp4Set& w1, const Fp4Set& w3) {
  cpu::Context ctx;
  Array<Act, 2> t(pairs.token.size(), w1.experts[0].q.dim(0));
  ops::experts_up<Act>(ctx, t, {z, {}, {}}, pairs.view(), w1.view(), w3.view(), kLimit);
  return t;
}

template <class Act>
Array<double, 2> defined_up(const Array<Act, 2>& z, const Pairs& pairs, const Fp4Set& w1, const Fp4Set& w3,
                            bool high_nibble_first = false) {
  const int64_t rows = w1.experts[0].q.dim(0);
  Array<double, 2> t(pairs.token.size(), rows);
  for (size_t p = 0; p < pairs.token.size(); ++p) {
    const auto e = static_cast<size_t>(pairs.expert[p]);
    for (int64_t n = 0; n < rows; ++n) {
      double g = 0;
      double u = 0;
      for (int64_t k = 0; k < z.dim(1); ++k) {
        g += value(w1.experts[e], n, k, high_nibble_first) * as_double(z(pairs.token[p], k));
        u += value(w3.experts[e], n, k, high_nibble_first) * as_double(z(pairs.token[p], k));
      }
      t(p, n) = swiglu(rounded<Act>(g), rounded<Act>(u), as_double(pairs.weight[p]));
    }
  }
  return t;
}

template <class Act>
Array<float, 2> down(const Array<Act, 2>& x, Pairs pairs, const Fp4Set& w2, int64_t tokens, ops::ExpertOutput output) {
  cpu::Context ctx;
  Array<float, 2> y(tokens, w2.experts[0].q.dim(0));
  ops::experts_down<Act>(ctx, y, {x, {}, {}}, pairs.view(), w2.view(), output);
  return y;
}

template <class Act>
Array<float, 2> defined_down(const Array<Act, 2>& x, const Pairs& pairs, const Fp4Set& w2, int64_t tokens,
                             ops::ExpertOutput output) {
  Array<float, 2> y(tokens, w2.experts[0].q.dim(0));
  y.fill(0);
  for (size_t p = 0; p < pairs.token.size(); ++p) {  // pairs are in order of expert
    for (int64_t n = 0; n < y.dim(1); ++n) {
      double sum = 0;
      for (int64_t k = 0; k < x.dim(1); ++k) {
        sum += value(w2.experts[static_cast<size_t>(pairs.expert[p])], n, k) * as_double(x(p, k));
      }
      const double rest = output == ops::ExpertOutput::kWhole ? rounded<Act>(sum) : sum;
      y(pairs.token[p], n) += static_cast<float>(rest);
    }
  }
  return y;
}

template <class Act>
Array<Act, 2> integers(Random& random, int64_t rows, int64_t columns) {
  Array<Act, 2> x(rows, columns);
  random.fill_integers(x, -9, 9, 0.125);
  return x;
}

TYPED_TEST(Experts, SwigluAgreesWithTheUnitVectorAndMayOverwriteTheGate) {
  Array<TypeParam, 2> gate = matrix_of<TypeParam>({{TypeParam(12.0f), TypeParam(-15.0f), TypeParam(0.5f)}});
  const Array<TypeParam, 2> up_values = matrix_of<TypeParam>({{TypeParam(3.0f), TypeParam(-12.0f), TypeParam(11.0f)}});
  const Array<double, 2> want = matrix_of<double>({{29.9986382, 4.58853356e-05, 3.11229682}});
  cpu::Context ctx;
  Array<TypeParam, 2> t(1, 3);
  ops::swiglu<TypeParam>(ctx, t, gate.view(), up_values.view(), {}, kLimit);
  EXPECT_TRUE(matches(t, want, kFp32));
  ops::swiglu<TypeParam>(ctx, gate, gate.view(), up_values.view(), {}, kLimit);
  EXPECT_TRUE(same_bits(gate, t));
}

TYPED_TEST(Experts, SwigluWeighsAndClamps) {
  Random random(101);
  for (const auto& [rows, columns] : {std::pair{5, 33}, {1, 1}, {0, 8}}) {
    Array<TypeParam, 2> gate(rows, columns);
    Array<TypeParam, 2> up_values(rows, columns);
    Array<float, 1> weight(rows);
    random.fill_normal(gate, 8);  // many beyond the limit
    random.fill_normal(up_values, 8);
    random.fill_normal(weight);
    Array<double, 2> want(rows, columns);
    for (int p = 0; p < rows; ++p) {
      for (int c = 0; c < columns; ++c) {
        want(p, c) = swiglu(as_double(gate(p, c)), as_double(up_values(p, c)), as_double(weight(p)));
      }
    }
    cpu::Context ctx;
    Array<TypeParam, 2> t(rows, columns);
    ops::swiglu<TypeParam>(ctx, t, gate.view(), up_values.view(), weight, kLimit);
    EXPECT_TRUE(matches(t, want, kFp32));
  }
}

TYPED_TEST(Experts, UpIsTheSwigluOfEachPairThroughItsOwnExpert) {
  Random random(102);
  for (const int tokens : {7, 1, 0}) {
    const Array<TypeParam, 2> z = integers<TypeParam>(random, tokens, 128);
    const Fp4Set w1 = random_fp4(random, 9, 128);
    const Fp4Set w3 = random_fp4(random, 9, 128);
    const Pairs pairs = pairs_of(tokens);
    EXPECT_TRUE(matches(up(z, pairs, w1, w3), defined_up(z, pairs, w1, w3), kFp32)) << tokens;
  }
}

TYPED_TEST(Experts, TakeTheCodesOfAQuantisedInput) {
  Random random(103);
  const Fp4Set w1 = random_fp4(random, 3, 128);
  const Fp4Set w3 = random_fp4(random, 3, 128);
  Pairs pairs = pairs_of(3);
  Array<fp8_e4m3, 2> q(3, 128);
  Array<fp8_e8m0, 2> scale(3, 1);
  Array<TypeParam, 2> restored(3, 128);
  for (int t = 0; t < 3; ++t) {
    scale(t, 0) = {static_cast<uint8_t>(127 - t)};
    for (int k = 0; k < 128; ++k) {
      q(t, k) = to_e4m3(static_cast<float>(random.integer(-8, 8)));
      restored(t, k) = TypeParam(to_float(q(t, k)) * to_float(scale(t, 0)));
    }
  }
  const Array<TypeParam, 2> plain(3, 128);  // NaN: must not be read
  cpu::Context ctx;
  Array<TypeParam, 2> t(pairs.token.size(), 3);
  ops::experts_up<TypeParam>(ctx, t, {plain, q, scale}, pairs.view(), w1.view(), w3.view(), kLimit);
  EXPECT_TRUE(same_bits(t, up(restored, pairs, w1, w3)));
  EXPECT_TRUE(matches(t, defined_up(restored, pairs, w1, w3), kFp32));
}

TYPED_TEST(Experts, DownSumsTheOutputsInOrderOfExpert) {
  Random random(104);
  for (const int tokens : {7, 1, 0}) {
    const Pairs pairs = pairs_of(tokens);
    const Array<TypeParam, 2> x = integers<TypeParam>(random, static_cast<int64_t>(pairs.token.size()), 128);
    const Fp4Set w2 = random_fp4(random, 9, 128);
    for (const ops::ExpertOutput output : {ops::ExpertOutput::kWhole, ops::ExpertOutput::kShare}) {
      EXPECT_TRUE(same_bits(down(x, pairs, w2, tokens, output), defined_down(x, pairs, w2, tokens, output)));
    }
  }
}

TYPED_TEST(Experts, ATokenDoesNotDependOnTheOthers) {
  Random random(105);
  Array<TypeParam, 2> z(4, 128);
  random.fill_normal(z);
  const Fp4Set w1 = random_fp4(random, 128, 128);
  const Fp4Set w2 = random_fp4(random, 5, 128);
  const Pairs pairs = pairs_of(4);
  const Array<TypeParam, 2> all = up(z, pairs, w1, w1);
  const Array<float, 2> sum = down(all, pairs, w2, 4, ops::ExpertOutput::kShare);
  Pairs one{{0, 0, 0}, {}, {0, 1, 1, 1, 2, 3}, {0, 3, 4}};  // the pairs of token 3, alone
  for (size_t p = 0; p < pairs.token.size(); ++p) {
    if (pairs.token[p] == 3) one.weight.push_back(pairs.weight[p]);
  }
  const Array<TypeParam, 2> alone = up(copy_rows(z, 3, 1), one, w1, w1);
  EXPECT_TRUE(same_bits(down(alone, one, w2, 1, ops::ExpertOutput::kShare), copy_rows(sum, 3, 1)));
}

TYPED_TEST(Experts, AddExpertRoundsOnlyAWholeOutput) {
  Random random(106);
  Array<float, 2> x(3, 5);
  Array<float, 2> y(3, 5);
  random.fill_normal(x);
  random.fill_normal(y);
  cpu::Context ctx;
  Array<float, 2> whole = y;
  Array<float, 2> share = y;
  ops::add_expert<TypeParam>(ctx, whole, x, ops::ExpertOutput::kWhole);
  ops::add_expert<TypeParam>(ctx, share, x, ops::ExpertOutput::kShare);
  for (int64_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(whole.begin()[i], y.begin()[i] + static_cast<float>(rounded<TypeParam>(as_double(x.begin()[i]))));
    EXPECT_EQ(share.begin()[i], y.begin()[i] + x.begin()[i]);
  }
}

TEST(ExpertsNegativeControl, FlippedNibblesAreSeen) {
  Random random(107);
  const Array<bf16, 2> z = integers<bf16>(random, 3, 128);
  const Fp4Set w1 = random_fp4(random, 9, 128);
  const Pairs pairs = pairs_of(3);
  EXPECT_FALSE(matches(up(z, pairs, w1, w1), defined_up(z, pairs, w1, w1, /*high_nibble_first=*/true), kFp32));
}

TEST(ExpertsNegativeControl, AMissingClampIsSeen) {
  const Array<bf16, 2> gate = matrix_of<bf16>({{bf16(12.0f), bf16(-15.0f)}});
  const Array<bf16, 2> up_values = matrix_of<bf16>({{bf16(3.0f), bf16(-12.0f)}});
  cpu::Context ctx;
  Array<bf16, 2> t(1, 2);
  ops::swiglu<bf16>(ctx, t, gate.view(), up_values.view(), {}, kLimit);
  const double no_limit = 1e30;
  EXPECT_FALSE(matches(t, matrix_of<double>({{swiglu(12, 3, 1, no_limit), swiglu(-15, -12, 1)}}), kFp32));
  EXPECT_FALSE(matches(t, matrix_of<double>({{swiglu(12, 3, 1), swiglu(-15, -12, 1, no_limit)}}), kFp32));
}

TEST(ExpertsNegativeControl, AnUnroundedWholeOutputIsSeen) {
  Random random(108);
  const Pairs pairs = pairs_of(3);
  const Array<bf16, 2> x = integers<bf16>(random, static_cast<int64_t>(pairs.token.size()), 128);
  const Fp4Set w2 = random_fp4(random, 9, 128);
  EXPECT_FALSE(same_bits(down(x, pairs, w2, 3, ops::ExpertOutput::kWhole),
                         defined_down(x, pairs, w2, 3, ops::ExpertOutput::kShare)));
}

}  // namespace
}  // namespace octet::test
