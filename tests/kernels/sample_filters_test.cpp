// What stands between logits and a draw (kernels/sample.h): penalties, min_p, and the order of the filters, each
// against a definition written as sets instead of sorted lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "kernels/cpu/context.h"
#include "kernels/philox.h"
#include "kernels/sample.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

using ops::SampleParams;
using ops::TokenCount;

std::vector<float> penalised(std::vector<float> logits, const std::vector<TokenCount>& counts,
                             const SampleParams& params) {
  cpu::Context ctx;
  ops::apply_penalties(ctx, {logits.data(), static_cast<int64_t>(logits.size())}, counts, params);
  return logits;
}

TEST(Penalties, RepetitionShrinksPositiveAndGrowsNegativeLogitsOfPromptAndAnswer) {
  EXPECT_EQ(penalised({4, -4, 4, 0}, {{.id = 0, .generated = 2}, {.id = 1, .generated = 0}}, {.repetition_penalty = 2}),
            (std::vector<float>{2, -8, 4, 0}));
}

TEST(Penalties, PresenceCountsGeneratedTokensOnceAndFrequencyEachTime) {
  const std::vector<TokenCount> counts = {{.id = 0, .generated = 3}, {.id = 1, .generated = 0}};
  EXPECT_EQ(penalised({4, 4, 4}, counts, {.presence_penalty = 0.5f}), (std::vector<float>{3.5f, 4, 4}));
  EXPECT_EQ(penalised({4, 4, 4}, counts, {.frequency_penalty = 0.5f}), (std::vector<float>{2.5f, 4, 4}));
  EXPECT_EQ(penalised({4, 4, 4}, counts, {.presence_penalty = -1, .frequency_penalty = 1}),
            (std::vector<float>{2, 4, 4}));
}

TEST(Penalties, RepetitionComesBeforeTheOthers) {
  const SampleParams all{.repetition_penalty = 2, .presence_penalty = 3, .frequency_penalty = 0.5f};
  EXPECT_EQ(penalised({4}, {{.id = 0, .generated = 2}}, all), std::vector<float>{4 / 2 - 3 - 1});
}

TEST(Penalties, LeaveAnImpossibleTokenImpossibleAndOthersAlone) {
  const float never = -std::numeric_limits<float>::infinity();
  const SampleParams all{.repetition_penalty = 2, .presence_penalty = 1, .frequency_penalty = 1};
  EXPECT_EQ(penalised({never, 7}, {{.id = 0, .generated = 1}}, all), (std::vector<float>{never, 7}));
  EXPECT_EQ(penalised({never, 7}, {}, all), (std::vector<float>{never, 7}));
}

enum class Order { kReference, kTopPFirst, kMinPOfWhole, kNoMinP, kColdMinP };

/// Which ids pass, found without sorting: an id passes top_p if those strictly before it hold less than top_p.
std::vector<bool> passing(const std::vector<double>& logits, const SampleParams& params, Order order) {
  const size_t size = logits.size();
  const double temperature = order == Order::kColdMinP ? 1 : static_cast<double>(params.temperature);
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<bool> in(size, true);
  const auto mass = [&](size_t i) { return std::exp((logits[i] - top) / static_cast<double>(params.temperature)); };
  const auto before = [&](size_t i, size_t j) { return logits[j] > logits[i] || (logits[j] == logits[i] && j < i); };
  const auto by_min_p = [&] {
    double whole = 0;
    for (size_t i = 0; i < size; ++i) whole += order == Order::kMinPOfWhole ? mass(i) : 0;
    const double of = order == Order::kMinPOfWhole ? whole : 1;
    for (size_t i = 0; i < size; ++i) {
      in[i] = std::exp((logits[i] - top) / temperature) >= static_cast<double>(params.min_p) * of;
    }
  };
  const auto by_top_k = [&] {
    const std::vector<bool> from = in;
    for (size_t i = 0; i < size; ++i) {
      int64_t larger = 0;
      for (size_t j = 0; j < size; ++j) larger += from[j] && logits[j] > logits[i] ? 1 : 0;
      in[i] = from[i] && larger < params.top_k;
    }
  };
  const auto by_top_p = [&] {
    const std::vector<bool> from = in;
    double whole = 0;
    for (size_t i = 0; i < size; ++i) whole += from[i] ? mass(i) : 0;
    for (size_t i = 0; i < size; ++i) {
      double sum = 0;
      for (size_t j = 0; j < size; ++j) sum += from[j] && before(i, j) ? mass(j) : 0;
      in[i] = from[i] && sum < static_cast<double>(params.top_p) * whole;
    }
  };
  if (order == Order::kTopPFirst) by_top_p();
  if (order != Order::kNoMinP && order != Order::kTopPFirst) by_min_p();
  by_top_k();
  if (order != Order::kTopPFirst) by_top_p();
  return in;
}

int32_t defined_draw(const std::vector<double>& logits, const SampleParams& params, Order order) {
  const std::vector<bool> in = passing(logits, params, order);
  int32_t best = -1;
  double highest = -std::numeric_limits<double>::infinity();
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    if (!in[static_cast<size_t>(id)]) continue;
    const auto r =
        philox4x32_10(static_cast<uint32_t>(id / 4), static_cast<uint32_t>(params.position), 0, 0, params.seed);
    const double noise = -std::log(-std::log((r.word[id % 4] + 0.5) * 0x1p-32));
    const double value = logits[static_cast<size_t>(id)] / static_cast<double>(params.temperature) + noise;
    if (value > highest) {
      highest = value;
      best = id;
    }
  }
  return best;
}

int differing_draws(Order order) {
  constexpr int kRows = 600;
  Random random(175);
  int different = 0;
  for (int i = 0; i < kRows; ++i) {
    Array<float, 2> logits(1, 29);
    random.fill_normal(logits, 1.5);
    const SampleParams params{.temperature = static_cast<float>(random.uniform(1.3, 2.5)),
                              .top_p = static_cast<float>(random.uniform(0.6, 1)),
                              .min_p = static_cast<float>(random.uniform(0, 0.3)),
                              .top_k = static_cast<int32_t>(random.integer(5, 25)),
                              .seed = random.bits(),
                              .position = random.integer(0, 1 << 20)};
    cpu::Context ctx;
    Array<int32_t, 1> id(1);
    ops::sample(ctx, id, logits, {&params, 1});
    different += id(0) == defined_draw({logits.begin(), logits.end()}, params, order) ? 0 : 1;
  }
  return different;
}

TEST(SampleFilters, AreMinPThenTopKThenTopP) {
  EXPECT_LE(differing_draws(Order::kReference),
            1);  // one in 10^5 pairs of candidates is too close for doubles to agree
}

TEST(SampleFiltersNegativeControl, AnotherOrderAnotherMinPAndNoMinPAreSeen) {
  EXPECT_GT(differing_draws(Order::kTopPFirst), 10);
  EXPECT_GT(differing_draws(Order::kMinPOfWhole), 10);
  EXPECT_GT(differing_draws(Order::kNoMinP), 10);
  EXPECT_GT(differing_draws(Order::kColdMinP), 10);
}

std::set<int32_t> drawn(const std::vector<float>& logits, SampleParams params) {
  std::set<int32_t> ids;
  for (params.position = 0; params.position < 2000; ++params.position) {
    cpu::Context ctx;
    Array<int32_t, 1> id(1);
    ops::sample(ctx, id, {logits.data(), 1, static_cast<int64_t>(logits.size())}, {&params, 1});
    ids.insert(id(0));
  }
  return ids;
}

TEST(MinP, KeepsWhatIsLikelyEnoughComparedWithTheLikeliest) {
  std::vector<float> logits;
  for (const double p : {0.1, 0.5, 0.25, 0.15}) logits.push_back(static_cast<float>(std::log(p)));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .min_p = 0.49f}), (std::set{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .min_p = 0.29f}), (std::set{1, 2, 3}));
  EXPECT_EQ(drawn(logits, {.temperature = 2, .min_p = 0.49f}), (std::set{1, 2, 3}));  // sqrt(0.3) passes, sqrt(0.2) not
  EXPECT_EQ(drawn(logits, {.temperature = 1, .min_p = 1}), (std::set{1}));
}

}  // namespace
}  // namespace octet::test
