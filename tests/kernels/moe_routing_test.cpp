// Which experts a token uses and with what weight, and the grouping of (token, choice) pairs by expert
// (kernels/moe.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "kernels/cpu/context.h"
#include "kernels/moe.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

struct Routed {
  Array<int32_t, 2> ids;
  Array<float, 2> weights;
  ops::Routing view() { return {ids, weights}; }
};

Routed by_score(const Array<float, 2>& logits, const Array<float, 1>& bias, int64_t K, float scale = 1.5f) {
  cpu::Context ctx;
  Routed r{Array<int32_t, 2>(logits.dim(0), K), Array<float, 2>(logits.dim(0), K)};
  ops::route_by_score(ctx, r.view(), logits, bias, scale);
  return r;
}

Routed by_token(const Array<float, 2>& logits, const Array<int64_t, 2>& table, const Array<int32_t, 1>& tokens,
                float scale = 1.5f) {
  cpu::Context ctx;
  Routed r{Array<int32_t, 2>(logits.dim(0), table.dim(1)), Array<float, 2>(logits.dim(0), table.dim(1))};
  ops::route_by_token(ctx, r.view(), logits, table, tokens, scale);
  return r;
}

double score(double logit) {
  return std::sqrt(logit > 20 ? logit : std::log1p(std::exp(logit)));
}

enum class Form { kReference, kBiasInWeights, kTiesToHigher, kNotNormalised, kBiasIgnored };

// Expert -> weight of one token: the choice is a set, its order is not part of the contract.
std::map<int, double> defined(const Array<float, 2>& logits, const Array<float, 1>& bias, int64_t t, int64_t K,
                              Form form = Form::kReference) {
  std::vector<int> order(static_cast<size_t>(logits.dim(1)));
  for (size_t e = 0; e < order.size(); ++e) order[e] = static_cast<int>(e);
  const auto key = [&](int e) {
    return score(as_double(logits(t, e))) + (form == Form::kBiasIgnored ? 0 : as_double(bias(e)));
  };
  if (form == Form::kTiesToHigher) std::reverse(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) > key(b); });
  order.resize(static_cast<size_t>(K));
  const auto weight = [&](int e) { return form == Form::kBiasInWeights ? key(e) : score(as_double(logits(t, e))); };
  double sum = 0;
  for (const int e : order) sum += form == Form::kNotNormalised ? 1.0 / static_cast<double>(K) : weight(e);
  std::map<int, double> chosen;
  for (const int e : order) chosen[e] = 1.5 * weight(e) / sum;
  return chosen;
}

// log1p, exp, sqrt, a sum of at most 8 and a quotient in fp32.
constexpr double kRelative = 2e-6;

bool agrees(const Routed& got, int64_t t, const std::map<int, double>& want) {
  std::map<int, double> found;
  for (int64_t k = 0; k < got.ids.dim(1); ++k) found[got.ids(t, k)] = as_double(got.weights(t, k));
  return found.size() == want.size() && std::equal(found.begin(), found.end(), want.begin(), [](auto& a, auto& b) {
           return a.first == b.first && std::fabs(a.second - b.second) <= kRelative * std::fabs(b.second);
         });
}

bool agrees(const Routed& got, const Array<float, 2>& logits, const Array<float, 1>& bias, Form form) {
  for (int64_t t = 0; t < logits.dim(0); ++t) {
    if (!agrees(got, t, defined(logits, bias, t, got.ids.dim(1), form))) return false;
  }
  return true;
}

// A sum of scores of 1 / scale makes the weights the scores themselves.
TEST(Gate, ScoreIsTheRootOfTheSoftplus) {
  const std::vector<float> logits = {-10, -2, 0, 1, 5, 20, 25};
  const std::vector<double> scores = {0.00673787063, 0.356269568, 0.832554638, 1.14597631, 2.23756909, 4.47213602, 5};
  double sum = 0;
  for (const double c : scores) sum += c;
  const Routed got =
      by_score(matrix_of<float>({logits}), array_of<float>({0, 0, 0, 0, 0, 0, 0}), 7, static_cast<float>(sum));
  for (int k = 0; k < 7; ++k) {
    const double want = scores[static_cast<size_t>(got.ids(0, k))];
    EXPECT_NEAR(as_double(got.weights(0, k)), want, kRelative * want) << "expert " << got.ids(0, k);
  }
}

TEST(Gate, ChoosesTheLargestBiasedScoresAndWeighsByTheUnbiased) {
  Random random(91);
  for (const auto& [T, E, K] : {std::array{9, 37, 6}, {1, 256, 6}, {3, 8, 8}, {4, 5, 1}, {0, 8, 2}}) {
    Array<float, 2> logits(T, E);
    Array<float, 1> bias(E);
    random.fill_normal(logits, 3);
    random.fill_normal(bias, 2);
    EXPECT_TRUE(agrees(by_score(logits, bias, K), logits, bias, Form::kReference)) << T << " x " << E << " top " << K;
  }
}

TEST(Gate, TiesGoToTheLowerExpert) {
  Array<float, 2> logits(2, 8);
  for (int e = 0; e < 8; ++e) logits(0, e) = 0.5f;
  for (int e = 0; e < 8; ++e) logits(1, e) = e == 6 ? 2.0f : -1.0f;
  const Array<float, 1> bias = array_of<float>({0, 0, 0, 0, 0, 0, 0, 0});
  const Routed got = by_score(logits, bias, 3);
  EXPECT_TRUE(agrees(got, 0, {{0, 0.5}, {1, 0.5}, {2, 0.5}}));
  EXPECT_TRUE(agrees(got, 1, defined(logits, bias, 1, 3)));
  EXPECT_FALSE(agrees(got, 0, defined(logits, bias, 0, 3, Form::kTiesToHigher)));
}

TEST(Gate, ATableGivesTheExpertsOfATokenId) {
  Random random(92);
  Array<float, 2> logits(4, 16);
  random.fill_normal(logits, 3);
  Array<int64_t, 2> table(5, 3);
  for (int v = 0; v < 5; ++v) {
    for (int k = 0; k < 3; ++k) table(v, k) = (7 * v + 5 * k + 15) % 16;
  }
  const Array<int32_t, 1> tokens = array_of<int32_t>({4, 0, 2, 4});
  const Routed got = by_token(logits, table, tokens);
  for (int t = 0; t < 4; ++t) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) sum += score(as_double(logits(t, table(tokens(t), k))));
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(got.ids(t, k), table(tokens(t), k));
      const double want = 1.5 * score(as_double(logits(t, table(tokens(t), k)))) / sum;
      EXPECT_NEAR(as_double(got.weights(t, k)), want, kRelative * want);
    }
  }
  EXPECT_EQ(by_token(Array<float, 2>(0, 16), table, Array<int32_t, 1>(0)).ids.size(), 0);
}

TEST(Gate, ATokenDoesNotDependOnTheOthers) {
  Random random(93);
  Array<float, 2> logits(6, 32);
  Array<float, 1> bias(32);
  random.fill_normal(logits, 3);
  random.fill_normal(bias);
  const Routed all = by_score(logits, bias, 6);
  for (int t = 0; t < 6; ++t) {
    const Routed one = by_score(copy_rows(logits, t, 1), bias, 6);
    EXPECT_TRUE(same_bits(one.ids, copy_rows(all.ids, t, 1)));
    EXPECT_TRUE(same_bits(one.weights, copy_rows(all.weights, t, 1)));
  }
}

class GateNegativeControl : public testing::TestWithParam<Form> {};

TEST_P(GateNegativeControl, IsSeen) {
  Random random(94);
  Array<float, 2> logits(5, 32);
  Array<float, 1> bias(32);
  random.fill_normal(logits, 3);
  random.fill_normal(bias, 2);
  EXPECT_FALSE(agrees(by_score(logits, bias, 6), logits, bias, GetParam()));
}

std::string defect_name(const testing::TestParamInfo<Form>& defect) {
  switch (defect.param) {
    case Form::kReference: return "None";
    case Form::kBiasInWeights: return "BiasInTheWeights";
    case Form::kTiesToHigher: return "TiesToTheHigherExpert";
    case Form::kNotNormalised: return "WeightsNotNormalised";
    case Form::kBiasIgnored: return "BiasIgnored";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Defect, GateNegativeControl,
                         testing::Values(Form::kBiasInWeights, Form::kNotNormalised, Form::kBiasIgnored), defect_name);

struct Groups {
  Array<int32_t, 1> token;
  Array<float, 1> weight;
  Array<int64_t, 1> offset;
};

Groups group(Routed routed, int64_t experts) {
  cpu::Context ctx;
  const int64_t pairs = routed.ids.size();
  Groups g{Array<int32_t, 1>(pairs), Array<float, 1>(pairs), Array<int64_t, 1>(experts + 1)};
  ops::group_by_expert(ctx, {g.token, g.weight, g.offset}, routed.view());
  return g;
}

TEST(ExpertGroups, OrdersPairsByExpertThenToken) {
  const Routed routed{matrix_of<int32_t>({{3, 0}, {0, 1}, {3, 1}, {1, 4}}),
                      matrix_of<float>({{0.1f, 0.2f}, {0.3f, 0.4f}, {0.5f, 0.6f}, {0.7f, 0.8f}})};
  const Groups got = group(routed, 6);
  EXPECT_TRUE(same_bits(got.offset, array_of<int64_t>({0, 2, 5, 5, 7, 8, 8})));
  EXPECT_TRUE(same_bits(got.token, array_of<int32_t>({0, 1, 1, 2, 3, 0, 2, 3})));
  EXPECT_TRUE(same_bits(got.weight, array_of<float>({0.2f, 0.3f, 0.4f, 0.6f, 0.7f, 0.1f, 0.5f, 0.8f})));
}

TEST(ExpertGroups, AreEmptyWithoutTokens) {
  const Groups got = group({Array<int32_t, 2>(0, 2), Array<float, 2>(0, 2)}, 3);
  EXPECT_TRUE(same_bits(got.offset, array_of<int64_t>({0, 0, 0, 0})));
}

}  // namespace
}  // namespace octet::test
