// How a step is cut for the stages of a pipeline.
#include "runtime/micro_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace octet::test {
namespace {

/// A prompt of 10 tokens from position 5, three decode rows, and a prompt of 7; every last row is sampled.
BatchPlan some_plan() {
  BatchPlan plan;
  plan.forks.push_back({.from_slot = 1, .to_slot = 9});
  const auto add = [&](int32_t slot, int64_t position, int64_t count) {
    PlanSegment s{.slot = slot, .position = position, .tokens = {}, .pages = {slot}};
    for (int64_t i = 0; i < count; ++i) s.tokens.push_back(static_cast<TokenId>(100 * slot + position + i));
    plan.segments.push_back(s);
    plan.samples.push_back({.row = plan.tokens() - 1, .draw = true, .params = {}});
  };
  add(1, 5, 10);
  add(2, 30, 1);
  add(3, 40, 1);
  add(4, 50, 1);
  add(5, 0, 7);
  return plan;
}

/// All rows of the parts in order: (slot, position, token).
using Row = std::tuple<int32_t, int64_t, TokenId>;
std::vector<Row> rows_of(const std::vector<BatchPlan>& parts) {
  std::vector<Row> rows;
  for (const BatchPlan& part : parts) {
    for (const PlanSegment& s : part.segments) {
      for (size_t i = 0; i < s.tokens.size(); ++i) {
        rows.emplace_back(s.slot, s.position + static_cast<int64_t>(i), s.tokens[i]);
      }
    }
  }
  return rows;
}

std::vector<int64_t> sampled_rows(const std::vector<BatchPlan>& parts) {
  std::vector<int64_t> rows;
  int64_t first = 0;
  for (const BatchPlan& part : parts) {
    for (const PlanSample& s : part.samples) rows.push_back(first + s.row);
    first += part.tokens();
  }
  return rows;
}

TEST(MicroBatches, OneStageRunsThePlanAsItIs) {
  const auto parts = micro_batches(some_plan(), {}, 1);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].forks.size(), 1u);
}

TEST(MicroBatches, HoldEveryRowAndSampleOnceInOrder) {
  const BatchPlan plan = some_plan();
  for (const int stages : {2, 3, 4, 8, 20}) {
    const auto parts = micro_batches(plan, {}, stages);
    EXPECT_EQ(std::ssize(parts), std::min<int64_t>(2 * stages, plan.tokens()));
    EXPECT_EQ(rows_of(parts), rows_of({plan})) << stages << " stages";
    EXPECT_EQ(sampled_rows(parts), sampled_rows({plan})) << stages << " stages";
    const auto [least, most] = std::minmax_element(
        parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.tokens() < b.tokens(); });
    EXPECT_LE(most->tokens() - least->tokens(), 1);
    for (const BatchPlan& part : parts) EXPECT_TRUE(part.forks.empty());
  }
}

TEST(MicroBatches, StayAboveTheThresholdsThatTheStepReaches) {
  const BatchPlan plan = some_plan();  // 20 tokens
  const auto count = [&](int64_t int8, int64_t shard) {
    const CampaignOptions campaign{.ar_int8 = true,
                                   .ar_int8_min_tokens = int8,
                                   .mhc_post_sqrsum = true,
                                   .mhc_prenorm_shard = true,
                                   .mhc_prenorm_shard_min_tokens = shard};
    return micro_batches(plan, campaign, 4).size();
  };
  EXPECT_EQ(count(1, 1), 8u);
  EXPECT_EQ(count(10, 1), 2u);
  EXPECT_EQ(count(20, 1), 1u);
  EXPECT_EQ(count(21, 1), 8u) << "below the threshold whatever the cut";
  EXPECT_EQ(count(1, 7), 2u);
}

}  // namespace
}  // namespace octet::test
