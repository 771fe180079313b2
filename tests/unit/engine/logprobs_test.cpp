// Log-probabilities of drawn tokens.
#include "engine/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random.h"

namespace octet {
namespace {

std::vector<float> log_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) + 3);
  return logits;
}

TEST(TokenLogprobs, AreTheLogSoftmaxOfTheRow) {
  const TokenLogprobs found = token_logprobs(log_of({0.125, 0.5, 0.25, 0.125}), 3, 2);
  EXPECT_NEAR(found.logprob, std::log(0.125), 1e-6);
  ASSERT_EQ(found.top.size(), 2u);
  EXPECT_EQ(found.top[0].first, 1);
  EXPECT_NEAR(found.top[0].second, std::log(0.5), 1e-6);
  EXPECT_EQ(found.top[1].first, 2);
}

TEST(TokenLogprobs, OrderTiesByIdAndStopAtTheVocabulary) {
  const TokenLogprobs found = token_logprobs(std::vector<float>{1, 2, 2}, 0, 20);
  ASSERT_EQ(found.top.size(), 3u);
  EXPECT_EQ(found.top[0].first, 1);
  EXPECT_EQ(found.top[1].first, 2);
  EXPECT_TRUE(token_logprobs(std::vector<float>{1, 2, 2}, 0, 0).top.empty());
}

TEST(TokenLogprobs, OfAnImpossibleTokenAreANumber) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(token_logprobs(std::vector<float>{never, 0}, 0, 0).logprob, -9999);
}

TEST(TokenLogprobs, SumToOneHoweverLargeTheLogits) {
  test::Random random(182);
  std::vector<float> logits(1000);
  for (float& x : logits) x = static_cast<float>(500 + 30 * random.normal());
  double sum = 0;
  for (const auto& [id, logprob] : token_logprobs(logits, 0, 1000).top) sum += std::exp(logprob);
  EXPECT_NEAR(sum, 1, 1e-12);
}

}  // namespace
}  // namespace octet
