// The memory plan against the CPU runner on 1, 2, 4 or 8 ranks: weights and cache to the byte, scratch as an upper
// bound that is not far off.
#include "model/memory_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/plan_report.h"
#include "tests/mpi/layer_case.h"

namespace octet::test {
namespace {

constexpr int64_t kSequences = 2;

struct Model {
  std::string folder;
  ModelConfig config;
};

Model tiny() {
  return {shared_model().folder, shared_model().config};
}
Model tiny_words() {
  const std::string folder = data_path("tiny-words");
  return {folder, read_model_config(folder + "/config.json")};
}

/// What the runner holds after one step of two sequences with `tokens` tokens together.
RunnerReport report_after_step(const Model& model, Numerics numerics, int64_t tokens, const CampaignOptions& campaign) {
  RunnerSetup setup;
  setup.model_dir = model.folder;
  setup.config = model.config;
  setup.run.model = model.folder;
  setup.run.numerics = numerics;
  setup.run.campaign = campaign;
  const int64_t pages_each = (tokens + kPageTokens - 1) / kPageTokens;
  setup.capacity = {.slots = kSequences, .pages = kSequences * pages_each, .max_seq_len = tokens};
  setup.session = &session();
  const auto runner = make_cpu_runner(setup);
  BatchPlan plan;
  for (int32_t s = 0; s < kSequences; ++s) {
    PlanSegment segment;
    segment.slot = s;
    for (int64_t t = 0; t < (s == 0 ? tokens - 1 : 1); ++t) {
      segment.tokens.push_back(static_cast<TokenId>((t * 37 + 5) % model.config.vocab_size));
    }
    for (int64_t p = 0; p < pages_each; ++p) segment.pages.push_back(static_cast<int32_t>(s * pages_each + p));
    plan.segments.push_back(segment);
    plan.samples.push_back({s == 0 ? tokens - 2 : tokens - 1, true, {}});
  }
  runner->step(plan);
  return runner->report();
}

void expect_planned(const Model& model, Numerics numerics, int64_t tokens, const CampaignOptions& campaign = {}) {
  const MemoryPlanner planner(model.config, session().size(), numerics, campaign);
  const MemoryPlan plan = planner.plan(kSequences, tokens, tokens - 1);
  const RunnerReport held = report_after_step(model, numerics, tokens, campaign);
  EXPECT_EQ(held.weight_bytes, planner.weight_bytes(session().rank()));
  EXPECT_LE(held.weight_bytes, plan.weight_bytes);
  EXPECT_EQ(held.cache_bytes, plan.cache_bytes);
  EXPECT_LE(held.scratch_bytes, plan.scratch_bytes) << tokens << " tokens";
  EXPECT_LE(plan.scratch_bytes, held.scratch_bytes * 3 / 2 + (int64_t{16} << 20)) << tokens << " tokens";
}

TEST(MemoryPlan, IsWhatTheRunnerHoldsOfTheTinyModel) {
  for (const Numerics n : {Numerics::kExact, Numerics::kWeightOnly, Numerics::kOfficial}) expect_planned(tiny(), n, 64);
}

TEST(MemoryPlan, IsWhatTheRunnerHoldsOfTinyWords) {
  expect_planned(tiny_words(), Numerics::kOfficial, 64);
}

TEST(MemoryPlan, ScratchGrowsWithTheStepAsPlanned) {
  for (const int64_t tokens : {600, 1500}) {
    for (const Numerics n : {Numerics::kExact, Numerics::kOfficial}) expect_planned(tiny(), n, tokens);
  }
}

TEST(MemoryPlan, CountsWhatTheCampaignsPathsHold) {
  const CampaignOptions all{.ar_int8 = true,
                            .ar_int8_min_tokens = 1,
                            .mhc_post_sqrsum = true,
                            .mhc_prenorm_shard = true,
                            .mhc_prenorm_shard_min_tokens = 1};
  for (const int64_t tokens : {64, 1500}) {
    for (const Numerics n : {Numerics::kExact, Numerics::kOfficial}) expect_planned(tiny(), n, tokens, all);
  }
}

TEST(MemoryPlan, TheComparisonNoticesAWrongPlan) {
  const MemoryPlanner planner(tiny().config, session().size(), Numerics::kOfficial);
  MemoryPlan plan = planner.plan(1, 64, 64);
  RunnerReport report{.weight_bytes = plan.weight_bytes, .cache_bytes = plan.cache_bytes, .scratch_bytes = 1};
  for (const PlanLine& line : compare_plan(plan, report)) EXPECT_TRUE(line.holds) << line.name;
  const auto broken = [&](size_t i) {
    const std::vector<PlanLine> lines = compare_plan(plan, report);
    EXPECT_NE(plan_comparison_text(lines).find("the plan was wrong"), std::string::npos);
    return !lines[i].holds;
  };
  ++report.weight_bytes;
  EXPECT_TRUE(broken(0));
  --report.weight_bytes;
  --report.cache_bytes;
  EXPECT_TRUE(broken(1));
  report.scratch_bytes = plan.scratch_bytes + 1;
  EXPECT_TRUE(broken(2));
}

}  // namespace
}  // namespace octet::test
