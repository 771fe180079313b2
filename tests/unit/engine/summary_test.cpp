// Times and figures of a run, on steps written by hand.
#include "engine/summary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace octet {
namespace {

/// Prefill of 8 rows, a mixed step, a decode step; with a pause of 1 ms before each.
const std::vector<StepRecord> kSteps = {{.begin_us = 1000, .end_us = 5000, .prefill_rows = 8, .decode_rows = 0},
                                        {.begin_us = 6000, .end_us = 10000, .prefill_rows = 3, .decode_rows = 1},
                                        {.begin_us = 11000, .end_us = 13000, .prefill_rows = 0, .decode_rows = 2}};

double number(const Json& object, const char* key) {
  return object.find(key)->as_double().value();
}

TEST(Timing, PhasesAddUpToTheTotal) {
  Finished f;
  f.admitted_step = 1;
  f.first_token_step = 1;
  f.last_step = 2;
  const Timing t = timing_of(f, kSteps);
  EXPECT_EQ(t.queue_us, 6000);
  EXPECT_EQ(t.prefill_us, 4000);
  EXPECT_EQ(t.decode_us, 3000);
  EXPECT_EQ(t.ttft_us(), 10000);
  EXPECT_EQ(t.total_us(), 13000);
}

TEST(Percentile, InterpolatesBetweenRanks) {
  EXPECT_DOUBLE_EQ(percentile({{4, 1}, {1, 1}, {2, 1}, {3, 1}}, 50), 2.5);
  EXPECT_DOUBLE_EQ(percentile({{1, 3}, {5, 1}}, 90), 1 + 4 * 0.7);
  EXPECT_DOUBLE_EQ(percentile({{7, 1}}, 99), 7);
  EXPECT_DOUBLE_EQ(percentile({}, 50), 0);
}

TEST(RunSummary, SharesTheTimeOfAMixedStepByRows) {
  RunSummary summary;
  summary.set_steps(kSteps);
  const Json json = summary.to_json({RankReport{}});
  EXPECT_NEAR(number(json, "prefill_tokens_per_second"), 11 / (0.004 + 0.003), 1e-3);
  EXPECT_NEAR(number(json, "decode_tokens_per_second"), 3 / (0.001 + 0.002), 1e-3);
}

TEST(RunSummary, CountsErrorsByCode) {
  RunSummary summary;
  summary.add_error("invalid_json");
  summary.add_error("invalid_json");
  summary.add_error("unsupported");
  for (int completion = 0; completion < 3; ++completion) summary.add({}, {});
  summary.add_line();  // it had all three
  const Json json = summary.to_json({RankReport{}, RankReport{}});
  EXPECT_EQ(json.find("errors")->dump(), R"({"invalid_json":2,"unsupported":1})");
  EXPECT_EQ(number(json, "prompts"), 4);
  EXPECT_EQ(number(json, "completed"), 1);
  EXPECT_EQ(number(json, "completions"), 3);
  EXPECT_EQ(number(json, "failed"), 3);
  EXPECT_EQ(json.find("ranks")->items.size(), 2u);
}

TEST(RunSummary, OfARunWithoutStepsHasZeroRates) {
  const Json json = RunSummary().to_json({RankReport{}});
  EXPECT_EQ(number(json, "output_throughput"), 0);
  EXPECT_EQ(number(json, "p99_itl_ms"), 0);
}

}  // namespace
}  // namespace octet
