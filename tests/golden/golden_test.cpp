// The program against the reference's recorded values (tests/data/golden/README.md has the bounds and their reasons).
#include <gtest/gtest.h>

#include "tests/golden/golden_run.h"

namespace octet::test {
namespace {

// --- exact: the mathematics. Only the order of sums differs.

class Exact : public testing::TestWithParam<GoldenCase> {};

TEST_P(Exact, LogitsAndEveryLayerEqualTheReferenceWithin1e4) {
  if (GetParam().only_long && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  const GoldenDistances d = run_golden(GetParam());
  EXPECT_LT(worst(d.logits), 1e-4) << d.worst_logits;
  ASSERT_EQ(d.layers.size(), 6u);
  for (size_t layer = 0; layer < d.layers.size(); ++layer) EXPECT_LT(worst(d.layers[layer]), 1e-4) << layer;
  RecordProperty("worst_logits", std::to_string(worst(d.logits)));
}

std::vector<GoldenCase> exact_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string config : {"tiny", "tiny-dspark"}) {
    for (const int ranks : {1, 2, 4, 8}) {
      for (const int64_t chunk : {1, 3, 64, 8192}) {
        // A step of one token costs as much as one of sixty: the 777-token prompt is left to the larger chunks.
        const bool small = chunk < 64, often = config == "tiny" && (ranks == 1 || ranks == 8);
        cases.push_back({config, "exact", ranks, chunk, small ? 300 : 1000, small && !often});
      }
    }
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<GoldenCase>& info) {
  const GoldenCase& c = info.param;
  std::string name = c.config + "_" + c.numerics + "_np" + std::to_string(c.ranks) + "_chunk" + std::to_string(c.chunk);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, Exact, testing::ValuesIn(exact_cases()), case_name);

class ExactPrefill : public testing::TestWithParam<GoldenCase> {};

TEST_P(ExactPrefill, EveryRecordedRowEqualsTheReferenceWithin1e4) {
  if (GetParam().only_long && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  const Tensors golden(data_path("golden/" + GetParam().config + ".exact.safetensors"));
  for (const std::string& p : prompts(golden)) EXPECT_LT(run_prefill_rows(GetParam(), p), 1e-4) << p;
}

INSTANTIATE_TEST_SUITE_P(Golden, ExactPrefill,
                         testing::Values(GoldenCase{"tiny", "exact", 1, 8192},
                                         GoldenCase{"tiny-dspark", "exact", 1, 64},
                                         GoldenCase{"tiny", "exact", 8, 64, 1000, true},
                                         GoldenCase{"tiny-dspark", "exact", 8, 8192}),
                         case_name);

// --- weight_only and official: roundings flip, so the distances are bounded by what a right program shows.

class Rounded : public testing::TestWithParam<GoldenCase> {};

TEST_P(Rounded, LogitsAndFirstLayerStayWithinTheMeasuredBounds) {
  const GoldenCase& c = GetParam();
  if (c.only_long && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  const GoldenDistances d = run_golden(c);
  const bool official = c.numerics == "official";
  EXPECT_LT(median(d.logits), official ? 0.17 : 0.05);
  EXPECT_LT(worst(d.logits), official ? 0.25 : 0.12) << d.worst_logits;
  ASSERT_FALSE(d.layers.empty());
  EXPECT_LT(median(d.layers[0]), c.ranks == 1 ? 1e-5 : 5e-3);
}

std::vector<GoldenCase> rounded_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string config : {"tiny", "tiny-dspark"}) {
    for (const std::string numerics : {"weight_only", "official"}) {
      cases.push_back({config, numerics, 1, 8192});
      cases.push_back({config, numerics, 1, 64});
      for (const int ranks : {2, 4, 8}) {
        cases.push_back({config, numerics, ranks, 8192, 1000, config != "tiny" && ranks != 8});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Golden, Rounded, testing::ValuesIn(rounded_cases()), case_name);

// --- one layer: nothing amplifies a flipped rounding, so a missing or wrong one shows.

class OneLayer : public testing::TestWithParam<GoldenCase> {};

TEST_P(OneLayer, MedianOfTheLogitsShowsNoMissingRounding) {
  EXPECT_LT(median(run_golden(GetParam()).logits), 0.01);
}

std::vector<GoldenCase> one_layer_cases() {
  std::vector<GoldenCase> cases;
  for (const std::string config : {"tiny-l4", "tiny-l128"}) {
    for (const std::string numerics : {"weight_only", "official"}) {
      for (const int ranks : {1, 2, 4, 8}) cases.push_back({config, numerics, ranks, 8192});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Golden, OneLayer, testing::ValuesIn(one_layer_cases()), case_name);

// --- negative controls: the same comparison must reject a broken reduction.

class BrokenReduction : public testing::TestWithParam<std::string> {};

TEST_P(BrokenReduction, IsFarFromTheReference) {
  const GoldenDistances d = run_golden({"tiny-dspark", "exact", 2, 8192},
                                       "OCTET_SELFCHECK=false OCTET_TEST_FAULT=" + GetParam());  // which would stop it
  EXPECT_GT(worst(d.logits), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(NegativeControl, BrokenReduction,
                         testing::Values("skip_reduce:0.attn", "skip_reduce:3.ffn", "double_reduce:2.attn",
                                         "double_reduce:5.ffn"),
                         [](const auto& param_info) {
                           std::string name = param_info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
                           return name;
                         });

TEST(NegativeControl, AnotherSeedIsFarFromTheReference) {
  const TempFolder work;
  const Outcome made = octet_alone("synth --config " + data_path("golden/configs/tiny-l4.json") + " --seed 14 -o " +
                                   work.path() + "/model");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(read_file(work.path() + "/model/model-00001-of-00003.safetensors"),
            read_file(synthetic_model("tiny-l4") + "/model-00001-of-00003.safetensors"));
}

}  // namespace
}  // namespace octet::test
