// The memory plan where no rank is needed to check it: the full model from its config, and what fits a card.
#include "model/memory_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "model/batch.h"
#include "model/plan_text.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

ModelConfig full_config() {
  return read_model_config(data_path("configs/v4-flash.json"));
}

int64_t bytes_of(const std::vector<WeightClass>& classes, const std::string& name) {
  for (const WeightClass& c : classes) {
    if (c.name == name) return c.bytes();
  }
  return -1;
}

TEST(MemoryPlan, RanksTogetherHoldTheSplitTensorsOnceAndTheOthersEach) {
  const std::vector<TensorSpec> specs = tensor_specs(full_config());
  int64_t held = 0;
  for (const TensorSpec& spec : specs) held += spec.draft ? 0 : (spec.bytes() + 63) / 64 * 64;
  const std::vector<WeightClass> one = weight_classes(specs, whole_model(full_config()), 0, 1),
                                 eight = weight_classes(specs, whole_model(full_config()), 3, 8);
  int64_t sum_of_one = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    sum_of_one += one[i].bytes();
    EXPECT_EQ(eight[i].replicated_bytes, one[i].replicated_bytes) << one[i].name;
    if (one[i].name == "fp32") {  // a rank's 8 attention sinks are half of the alignment
      EXPECT_EQ(eight[i].split_bytes * 8, 2 * one[i].split_bytes);
    } else {
      EXPECT_EQ(eight[i].split_bytes * 8, one[i].split_bytes) << one[i].name;
    }
  }
  EXPECT_EQ(sum_of_one, held);
  // 43 layers of 256 experts, three matrices of 4096 x 2048 at half a byte
  EXPECT_EQ(bytes_of(one, "fp4"), int64_t{43} * 256 * 3 * 4096 * 2048 / 2);
}

TEST(MemoryPlan, CacheIsRingsPerSequenceAndRowsPerPage) {
  const ModelConfig config = full_config();
  const MemoryPlanner planner(config, 8, Numerics::kOfficial);
  const StateBytes state = state_bytes(config, whole_model(config), Numerics::kOfficial);
  const MemoryPlan two = planner.plan(2, 4096, 1024), three = planner.plan(3, 4096, 1024);
  EXPECT_EQ(three.setup.pages, 12);
  const int64_t growth = three.cache_bytes - two.cache_bytes, planned = state.per_sequence() + 4 * state.per_page();
  EXPECT_NEAR(static_cast<double>(growth), static_cast<double>(planned), 43 * 5 * 256);  // pieces are aligned
  EXPECT_GT(state_bytes(config, whole_model(config), Numerics::kExact).per_page(), state.per_page());
}

TEST(MemoryPlan, WhatFitsFitsAndOneMoreDoesNot) {
  const MemoryPlanner planner(full_config(), 8, Numerics::kOfficial);
  const int64_t card = int64_t{40} << 30, chunk = 2048;
  for (const int64_t context : {8192, 262144}) {
    const int64_t batch = planner.largest_batch(context, chunk, card, 4096);
    ASSERT_GT(batch, 0);
    ASSERT_LT(batch, 4096);
    EXPECT_LE(planner.plan(batch, context, chunk).total_bytes(), card);
    EXPECT_GT(planner.plan(batch + 1, context, chunk).total_bytes(), card);
  }
  const int64_t context = planner.largest_context(16, chunk, card);
  EXPECT_LE(planner.plan(16, context, chunk).total_bytes(), card);
  EXPECT_GT(planner.plan(16, context + kPageTokens, chunk).total_bytes(), card);
  EXPECT_EQ(planner.largest_batch(8192, chunk, int64_t{1} << 30, 4096), 0);
  EXPECT_EQ(planner.largest_context(1, chunk, int64_t{1} << 30), 0);
}

TEST(MemoryPlan, AdviceNamesABatchForAContext) {
  const MemoryPlanner planner(full_config(), 8, Numerics::kOfficial);
  const int64_t card = int64_t{40} << 30;
  const MemoryPlan plan = planner.plan(4096, 1048576, 2048);
  const PlanAdvice advice = advise(planner, plan, card);
  EXPECT_FALSE(advice.fits);
  std::string all;
  for (const std::string& line : advice_lines(plan, advice)) all += line + "\n";
  const int64_t batch = planner.largest_batch(262144, 2048, card, 4096);
  EXPECT_NE(all.find("context 262,144 fits with --max-batch " + std::to_string(batch) + "\n"), all.npos) << all;
}

TEST(MemoryPlan, ARankCountThatDoesNotDivideIsRefused) {
  EXPECT_THROW(MemoryPlanner(full_config(), 3, Numerics::kOfficial), Error);
}

}  // namespace
}  // namespace octet::test
