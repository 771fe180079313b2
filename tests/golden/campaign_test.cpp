// The campaign's paths against the golden values: what int8 sums cost, and that the folded and shared paths cost
// nothing. Thresholds are 1 and no graph is allowed, so that every step of these short prompts takes the paths; the log
// must say that it did. Layers: `streams` off, for a dump of streams ends each layer with a plain post.
#include <gtest/gtest.h>

#include "tests/golden/generate_run.h"
#include "tests/golden/golden_run.h"

namespace octet::test {
namespace {

const std::string kInt8 = "--graph-cap 0 --ar-int8 --ar-int8-min-tokens 1 ";
const std::string kFused = "--graph-cap 0 --mhc-post-sqrsum --mhc-prenorm-shard --mhc-prenorm-shard-min-tokens 1 ";
const std::string kAll = kInt8 + "--mhc-post-sqrsum --mhc-prenorm-shard --mhc-prenorm-shard-min-tokens 1 ";

GoldenCase with_flags(const std::string& config, const std::string& numerics, int ranks, const std::string& flags) {
  return {.config = config, .numerics = numerics, .ranks = ranks, .flags = flags, .streams = false};
}

void expect_engaged(const GoldenDistances& d, const std::string& sites) {
  EXPECT_NE(d.log.find(sites), std::string::npos) << d.log;
}

class Int8Golden : public testing::TestWithParam<int> {};

/// A faithful program moves by 0.040 with 8 ranks; without int8 the distance is 0.014.
TEST_P(Int8Golden, AloneMovesWeightOnlyLogitsByLessThanTheBound) {
  const GoldenDistances d = run_golden(with_flags("tiny", "weight_only", GetParam(), kInt8));
  expect_engaged(d, "int8 sums at 12 of 12 sites");
  EXPECT_LT(median(d.logits), 0.075);
  EXPECT_GT(median(d.logits), 0.02) << "as small as without int8: were the sums int8 at all?";
  RecordProperty("median", std::to_string(median(d.logits)));
}

TEST_P(Int8Golden, WithAllFlagsTheOfficialBoundsHold) {
  for (const std::string config : {"tiny", "tiny-dspark"}) {
    const GoldenDistances d = run_golden(with_flags(config, "official", GetParam(), kAll));
    expect_engaged(d, "int8 sums at ");
    expect_engaged(d, "shared mixes at ");
    EXPECT_LT(median(d.logits), 0.17) << config;
    EXPECT_LT(worst(d.logits), 0.25) << config << ' ' << d.worst_logits;
  }
}

INSTANTIATE_TEST_SUITE_P(Campaign, Int8Golden, testing::Values(2, 4, 8),
                         [](const auto& param_info) { return "np" + std::to_string(param_info.param); });

TEST(CampaignGolden, FoldedAndSharedPathsGiveThePlainBits) {
  for (const std::string numerics : {"exact", "weight_only", "official"}) {
    for (const int ranks : {1, 2, 8}) {
      if (ranks == 2 && !long_lane()) continue;
      const GoldenDistances plain = run_golden(with_flags("tiny", numerics, ranks, ""));
      const GoldenDistances fused = run_golden(with_flags("tiny", numerics, ranks, kFused));
      expect_engaged(fused, ranks == 1 ? "shared mixes at 0 of 12 sites" : "shared mixes at 11 of 12 sites");
      EXPECT_TRUE(plain.dump == fused.dump) << numerics << " on " << ranks << " ranks";
    }
  }
}

TEST(CampaignGolden, Int8OnOneRankIsInert) {
  const GoldenDistances plain = run_golden(with_flags("tiny-l4", "official", 1, ""));
  const GoldenDistances flagged = run_golden(with_flags("tiny-l4", "official", 1, kAll));
  expect_engaged(flagged, "int8 sums at 0 of 2 sites");
  EXPECT_TRUE(plain.dump == flagged.dump);
}

/// The ranks of a stage sum as without stages, and a sum has the same form: so do the bits.
TEST(PipelineGolden, StagesGiveTheBitsOfTheSameRanksWithoutThem) {
  for (const std::string& flags :
       {std::string(), kAll, std::string("--graph-cap 0 --ar-int8 --ar-int8-min-tokens 60 ")}) {
    const GoldenDistances plain = run_golden(with_flags("tiny", "official", 2, flags));
    const GoldenDistances staged = run_golden(with_flags("tiny", "official", 4, flags + "--pp 2"));
    EXPECT_TRUE(plain.dump == staged.dump) << flags;
    if (!long_lane()) continue;
    EXPECT_TRUE(plain.dump == run_golden(with_flags("tiny", "official", 8, flags + "--pp 4")).dump) << flags;
  }
  GoldenCase staged = with_flags("tiny", "exact", 8, "--pp 4");
  staged.chunk = 64;
  const GoldenDistances exact = run_golden(staged);
  EXPECT_LT(worst(exact.logits), 1e-4) << exact.worst_logits;
}

TEST(CampaignGoldenNegativeControl, ABrokenInt8SumIsFarFromTheReference) {
  for (const std::string fault : {"skip_reduce:3.ffn", "double_reduce:2.attn"}) {
    const GoldenDistances d =
        run_golden(with_flags("tiny", "weight_only", 8, kInt8 + "--selfcheck=false "), "OCTET_TEST_FAULT=" + fault);
    EXPECT_GT(median(d.logits), 0.2) << fault;
  }
}

class CampaignWords : public testing::TestWithParam<GenerateCase> {};

TEST_P(CampaignWords, AllFlagsGiveTheReferencesTokensInAllFiftyCases) {
  if (GetParam().ranks != 8 && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  expect_reference_tokens(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    TinyWords, CampaignWords,
    testing::Values(GenerateCase{data_path("tiny-words"), "official", 8, kAll + "--prefill-chunk 1024"},
                    GenerateCase{data_path("tiny-words"), "official", 2, kAll + "--prefill-chunk 1024"},
                    GenerateCase{data_path("tiny-words"), "weight_only", 4, kAll + "--prefill-chunk 512"}),
    [](const auto& param_info) { return param_info.param.numerics + "_np" + std::to_string(param_info.param.ranks); });

}  // namespace
}  // namespace octet::test
