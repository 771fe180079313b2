// Drawing tokens (kernels/sample.h): the generator's published vectors, greedy choice, top_k and top_p, the draw itself
// predicted from the definition, and the distribution of many draws.
#include "kernels/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "kernels/cpu/context.h"
#include "kernels/philox.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

using ops::SampleParams;

Array<int32_t, 1> sample(const Array<float, 2>& logits, const std::vector<SampleParams>& params) {
  cpu::Context ctx;
  Array<int32_t, 1> ids(logits.dim(0));
  ops::sample(ctx, ids, logits, {params.data(), params.size()});
  return ids;
}

// Draws at positions 0 .. count - 1 from one row of logits.
std::vector<int32_t> draws(const std::vector<float>& logits, SampleParams params, int64_t count) {
  Array<float, 2> rows(count, static_cast<int64_t>(logits.size()));
  std::vector<SampleParams> all;
  for (int64_t i = 0; i < count; ++i) {
    std::copy(logits.begin(), logits.end(), &rows(i, 0));
    params.position = i;
    all.push_back(params);
  }
  const Array<int32_t, 1> ids = sample(rows, all);
  return {ids.begin(), ids.end()};
}

std::set<int32_t> drawn(const std::vector<float>& logits, const SampleParams& params) {
  const std::vector<int32_t> ids = draws(logits, params, 2000);
  return {ids.begin(), ids.end()};
}

std::vector<float> log_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

double chi_square(const std::vector<int32_t>& ids, const std::vector<double>& probabilities) {
  std::vector<double> found(probabilities.size(), 0.0);
  for (const int32_t id : ids) found.at(static_cast<size_t>(id)) += 1;
  double chi = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double want = probabilities[i] * static_cast<double>(ids.size());
    if (want > 0) chi += (found[i] - want) * (found[i] - want) / want;
    if (want == 0 && found[i] > 0) chi = std::numeric_limits<double>::infinity();
  }
  return chi;
}

// Exceeded once in 10^6 by a chi-square of 15 degrees of freedom, and less often by one of fewer.
constexpr double kChiLimit = 57;

// The definition of Philox4x32-10 with the key schedule applied to a copy, word by word.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{c[0]} * 0xD2511F53u;
    const uint64_t b = uint64_t{c[2]} * 0xCD9E8D57u;
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
  }
  return c;
}

TEST(Philox, GivesThePublishedVectors) {
  struct Vector {
    std::array<uint32_t, 4> counter;
    uint64_t key;
    std::array<uint32_t, 4> words;
  };
  for (const Vector& v : {Vector{{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                          Vector{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                                 0xffffffffffffffff,
                                 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                          Vector{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                 0x299f31d0a4093822,
                                 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
    const Philox4x32 got = philox4x32_10(v.counter[0], v.counter[1], v.counter[2], v.counter[3], v.key);
    const auto key = std::array{static_cast<uint32_t>(v.key), static_cast<uint32_t>(v.key >> 32)};
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got.word[i], v.words[i]) << i;
      EXPECT_EQ(philox(v.counter, key)[i], v.words[i]) << "the test's own, word " << i;
    }
  }
}

enum class Form { kReference, kWordsReversed, kPositionIgnored, kSeedLowHalf };

// argmax of log p + Gumbel noise; the noise is increasing in the word of the id.
int32_t defined_draw(const Array<float, 2>& logits, int64_t row, const SampleParams& params, Form form) {
  int32_t best = 0;
  double highest = -std::numeric_limits<double>::infinity();
  for (int32_t id = 0; id < logits.dim(1); ++id) {
    const auto key = std::array{static_cast<uint32_t>(params.seed),
                                form == Form::kSeedLowHalf ? 0u : static_cast<uint32_t>(params.seed >> 32)};
    const auto position = form == Form::kPositionIgnored ? 0u : static_cast<uint32_t>(params.position);
    const auto words = philox({static_cast<uint32_t>(id / 4), position, 0, 0}, key);
    const auto word = words[static_cast<size_t>(form == Form::kWordsReversed ? 3 - id % 4 : id % 4)];
    const double noise = -std::log(-std::log((word + 0.5) * 0x1p-32));
    const double value = as_double(logits(row, id)) / static_cast<double>(params.temperature) + noise;
    if (value > highest) {
      highest = value;
      best = id;
    }
  }
  return best;
}

int64_t differing_draws(Form form) {
  Random random(171);
  Array<float, 2> logits(300, 37);
  random.fill_normal(logits, 2);
  std::vector<SampleParams> params;
  for (int64_t i = 0; i < 300; ++i) {
    params.push_back({.temperature = 0.7f, .seed = random.bits(), .position = random.integer(0, 1 << 20)});
  }
  const Array<int32_t, 1> ids = sample(logits, params);
  int64_t different = 0;
  for (int64_t i = 0; i < 300; ++i) {
    different += ids(i) != defined_draw(logits, i, params[static_cast<size_t>(i)], form) ? 1 : 0;
  }
  return different;
}

TEST(Sample, TakesTheArgmaxOfTheLogitsPlusGumbelNoise) {
  // 24 bits of a word give the noise to 2^-24 near its middle: two candidates that close are one draw in 10^5.
  EXPECT_LE(differing_draws(Form::kReference), 1);
}

TEST(SampleNegativeControl, OtherWordsAFixedPositionAndHalfASeedAreSeen) {
  EXPECT_GT(differing_draws(Form::kWordsReversed), 30);
  EXPECT_GT(differing_draws(Form::kPositionIgnored), 30);
  EXPECT_GT(differing_draws(Form::kSeedLowHalf), 30);
}

TEST(Sample, GreedyTakesTheFirstOfTheLargest) {
  const Array<float, 2> logits = matrix_of<float>({{1, 3, 3, 2}, {-5, -7, -5, -5}, {0, 0, 0, 0}, {1, 2, 3, 4}});
  const Array<int32_t, 1> want = array_of<int32_t>({1, 0, 0, 3});
  EXPECT_TRUE(same_bits(sample(logits, {{}, {}, {}, {}}), want));
  const SampleParams cold{.temperature = 9e-6f, .top_p = 0.5f, .top_k = 2, .seed = 3};
  EXPECT_TRUE(same_bits(sample(logits, {cold, cold, cold, cold}), want));
}

TEST(Sample, TopKKeepsTheKLargestAndTiesWithTheLastOfThem) {
  EXPECT_EQ(drawn({1, 2, 1.5f, 0.5f}, {.temperature = 1, .top_k = 2}), (std::set{1, 2}));
  EXPECT_EQ(drawn({1, 2, 1, 0.5f, 1}, {.temperature = 1, .top_k = 2}), (std::set{0, 1, 2, 4}));
  EXPECT_EQ(drawn({1, 2, 1.5f}, {.temperature = 1, .top_k = 1}), (std::set{1}));
  EXPECT_EQ(drawn({1, 2, 1.5f}, {.temperature = 1, .top_k = 9}), (std::set{0, 1, 2}));
}

TEST(Sample, TopPKeepsTheSmallestSetThatReachesP) {
  const std::vector<float> logits = log_of({0.2, 0.5, 0.3});
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.45f}), (std::set{1}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.55f}), (std::set{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.75f}), (std::set{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.85f}), (std::set{0, 1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 1e-6f}), (std::set{1}));
}

TEST(Sample, TopPCountsWithinTheTopKAndAfterTheTemperature) {
  const std::vector<float> logits = log_of({0.4, 0.3, 0.2, 0.1});
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.5f, .top_k = 2}), (std::set{0}));  // 0.4 / 0.7 reaches 0.5
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.5f}), (std::set{0, 1}));
  EXPECT_EQ(drawn(logits, {.temperature = 0.5f, .top_p = 0.5f}), (std::set{0}));  // 0.16 / 0.30 reaches 0.5
}

TEST(Sample, NeverDrawsAnImpossibleToken) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(drawn({never, 0, never, 0.5f}, {.temperature = 1}), (std::set{1, 3}));
}

TEST(Sample, DrawsInProportionToTheProbabilities) {
  const std::vector<double> p = {0.05, 0.3, 0.01, 0.14, 0.2, 0.1, 0.15, 0.05};
  const std::vector<float> logits = log_of(p);
  EXPECT_LT(chi_square(draws(logits, {.temperature = 1, .seed = 5}, 40000), p), kChiLimit);

  std::vector<double> sharp(8);
  std::transform(p.begin(), p.end(), sharp.begin(), [](double x) { return x * x; });
  const double sum = std::accumulate(sharp.begin(), sharp.end(), 0.0);
  for (double& x : sharp) x /= sum;
  EXPECT_LT(chi_square(draws(logits, {.temperature = 0.5f, .seed = 6}, 40000), sharp), kChiLimit);
  EXPECT_GT(chi_square(draws(logits, {.temperature = 0.5f, .seed = 6}, 40000), p), 10 * kChiLimit);

  const std::vector<double> top3 = {0, 0.3 / 0.65, 0, 0, 0.2 / 0.65, 0, 0.15 / 0.65, 0};
  EXPECT_LT(chi_square(draws(logits, {.temperature = 1, .top_k = 3, .seed = 7}, 40000), top3), kChiLimit);
  EXPECT_LT(chi_square(draws(logits, {.temperature = 1, .top_p = 0.6f, .seed = 8}, 40000), top3), kChiLimit);
}

TEST(Sample, NeighbouringPositionsAndSeedsAreIndependent) {
  const std::vector<float> even(4, 0.0f);
  const std::vector<double> pairs(16, 1.0 / 16);
  const std::vector<int32_t> a = draws(even, {.temperature = 1, .seed = 41}, 40000);
  const std::vector<int32_t> b = draws(even, {.temperature = 1, .seed = 42}, 40000);
  std::vector<int32_t> positions;
  std::vector<int32_t> seeds;
  for (size_t i = 0; i + 1 < a.size(); i += 2) positions.push_back(4 * a[i] + a[i + 1]);
  for (size_t i = 0; i < a.size(); ++i) seeds.push_back(4 * a[i] + b[i]);
  EXPECT_LT(chi_square(positions, pairs), kChiLimit);
  EXPECT_LT(chi_square(seeds, pairs), kChiLimit);
}

TEST(Sample, ADrawDoesNotDependOnItsPlaceInTheBatch) {
  Random random(172);
  Array<float, 2> logits(9, 1003);
  random.fill_normal(logits, 2);
  std::vector<SampleParams> params;
  for (int i = 0; i < 9; ++i) {
    params.push_back({.temperature = i % 3 == 0 ? 0 : 1.0f,
                      .top_p = i % 2 == 0 ? 1 : 0.9f,
                      .top_k = i % 4 * 50,
                      .seed = static_cast<uint64_t>(i / 2),
                      .position = 100 + i});
  }
  const Array<int32_t, 1> all = sample(logits, params);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(sample(copy_rows(logits, i, 1), {params[static_cast<size_t>(i)]})(0), all(i)) << i;
  }
  EXPECT_EQ(sample(copy_rows(logits, 0, 0), {}).size(), 0);
}

}  // namespace
}  // namespace octet::test
