// A sequence that starts from the state of another gives the bits it would give alone, and leaves the other alone.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "runtime/runner.h"
#include "tests/mpi/layer_case.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

std::unique_ptr<Runner> fork_runner(Numerics numerics) {
  RunnerSetup setup;
  setup.model_dir = shared_model().folder;
  setup.config = shared_model().config;
  setup.run.model = setup.model_dir;
  setup.run.numerics = numerics;
  setup.capacity = {.slots = 3, .pages = 5, .max_seq_len = 4096};
  setup.session = &session();
  return make_cpu_runner(setup);
}

std::vector<TokenId> random_tokens(Random& random, int64_t count) {
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(random.integer(2, shared_model().config.vocab_size - 1)));
  }
  return tokens;
}

/// Feeds tokens to a slot and gives the logits of the last of them (empty on ranks other than 0).
std::vector<float> feed(Runner& runner, int32_t slot, int64_t position, const std::vector<TokenId>& tokens,
                        const std::vector<int32_t>& pages, const std::vector<PlanFork>& forks = {}) {
  BatchPlan plan;
  plan.forks = forks;
  plan.segments.push_back({slot, position, tokens, pages});
  plan.samples.push_back({static_cast<int64_t>(tokens.size()) - 1, true, {}});
  runner.step(plan);
  if (!is_root()) return {};
  const Vec<const float> row = runner.logits()[0];
  return {row.begin(), row.end()};
}

void expect_fork_equals_cold(Numerics numerics, int64_t prefix_length) {
  Random random(static_cast<uint64_t>(prefix_length));
  const std::unique_ptr<Runner> runner = fork_runner(numerics);
  const std::vector<TokenId> prefix = random_tokens(random, prefix_length);
  const std::vector<TokenId> own = random_tokens(random, 7), other = random_tokens(random, 5);
  const auto last = static_cast<int32_t>(prefix_length / kPageTokens);  // whole pages, which the sequences share
  std::vector<int32_t> pages(static_cast<size_t>(last) + 1), forked_pages(pages);
  std::iota(pages.begin(), pages.end(), 0);
  forked_pages = pages;
  forked_pages.back() = 4;

  feed(*runner, 0, 0, prefix, pages);
  PlanFork fork{.from_slot = 0, .to_slot = 1};
  if (prefix_length % kPageTokens != 0) fork.page = {last, 4};
  std::vector<std::vector<float>> forked = {feed(*runner, 1, prefix_length, {own[0]}, forked_pages, {fork})};
  const std::vector<float> before = feed(*runner, 0, prefix_length, other, pages);  // the other one goes its own way
  for (size_t i = 1; i < own.size(); ++i) {
    forked.push_back(feed(*runner, 1, prefix_length + static_cast<int64_t>(i), {own[i]}, forked_pages));
  }

  const std::vector<int32_t>& cold_pages = pages;  // the first sequence is not needed any more
  feed(*runner, 2, 0, prefix, cold_pages);
  for (size_t i = 0; i < own.size(); ++i) {
    const auto position = prefix_length + static_cast<int64_t>(i);
    EXPECT_EQ(feed(*runner, 2, position, {own[i]}, cold_pages), forked[i]) << "token " << i << " after the fork";
  }
  feed(*runner, 2, 0, prefix, cold_pages);
  EXPECT_EQ(feed(*runner, 2, prefix_length, other, cold_pages), before);
}

TEST(Fork, GivesTheBitsOfAColdSequence) {
  for (const Numerics numerics : {Numerics::kExact, Numerics::kWeightOnly, Numerics::kOfficial}) {
    for (const int64_t length : {3, 133}) expect_fork_equals_cold(numerics, length);
  }
}

TEST(Fork, SharesWholePagesAndCopiesTheOneBehindThem) {
  expect_fork_equals_cold(Numerics::kOfficial, 1030);
}

TEST(Fork, WithoutItsPageGivesOtherBits) {
  Random random(9);
  const std::unique_ptr<Runner> runner = fork_runner(Numerics::kOfficial);
  const std::vector<TokenId> prefix = random_tokens(random, 333);
  feed(*runner, 0, 0, prefix, {0});
  feed(*runner, 2, 0, random_tokens(random, 400), {3});  // so that the page is not empty
  const std::vector<float> right = feed(*runner, 1, 333, {7}, {4}, {{.from_slot = 0, .to_slot = 1, .page = {{0, 4}}}});
  const std::vector<float> wrong = feed(*runner, 1, 333, {7}, {3}, {{.from_slot = 0, .to_slot = 1}});
  EXPECT_EQ(is_root(), right != wrong);
}

}  // namespace
}  // namespace octet::test
