// Settings to options: precedence, origin, types, ranges, words.
#include "options/resolve.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.h"
#include "options/option_words.h"

namespace octet {
namespace {

const std::vector<Setting> kFiles = {{"model", "m", Origin::kFlag, "--model"},
                                     {"input", "i", Origin::kFlag, "--input"},
                                     {"output", "o", Origin::kFlag, "--output"}};

ResolvedOptions resolve(std::vector<Setting> settings) {
  settings.insert(settings.end(), kFiles.begin(), kFiles.end());
  return resolve_options(Command::kGenerate, settings);
}

/// The message of the usage error that a flag's text leads to; empty when it is accepted.
std::string refusal(const std::string& name, const std::string& text) {
  try {
    resolve({{name, text, Origin::kFlag, flag_name(name)}});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    return e.what();
  }
  return "";
}

const Setting kFromFile = {"max_batch", "2", Origin::kFile, "run.yaml:7"};
const Setting kFromVariable = {"max_batch", "3", Origin::kEnvironment, "OCTET_MAX_BATCH"};
const Setting kFromFlag = {"max_batch", "4", Origin::kFlag, "--max-batch"};

TEST(Resolve, FlagsWinOverVariablesOverFileOverDefaults) {
  EXPECT_EQ(resolve({}).options.run.max_batch, 16);
  EXPECT_EQ(resolve({kFromFile}).options.run.max_batch, 2);
  EXPECT_EQ(resolve({kFromVariable, kFromFile}).options.run.max_batch, 3);
  EXPECT_EQ(resolve({kFromFlag, kFromVariable, kFromFile}).options.run.max_batch, 4);
}

TEST(Resolve, KeepsWhereEachValueWasWritten) {
  const ResolvedOptions resolved = resolve({kFromVariable, kFromFile});
  EXPECT_EQ(resolved.written.at("max_batch").place, "OCTET_MAX_BATCH");
  EXPECT_EQ(resolved.written.at("model").origin, Origin::kFlag);
  EXPECT_FALSE(resolved.written.contains("top_p"));
}

TEST(Resolve, RefusesABadValueEvenIfAStrongerOneReplacesIt) {
  EXPECT_THROW(resolve({kFromFlag, {"max_batch", "x", Origin::kFile, "run.yaml:1"}}), Error);
}

TEST(Resolve, NamesFileLineAndOptionOfABadValue) {
  try {
    resolve({{"max_batch", "1e3", Origin::kFile, "run.yaml:3"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "run.yaml:3: max_batch expects a whole number, found '1e3'");
  }
}

TEST(Resolve, ChecksTypeBeforeRange) {
  EXPECT_EQ(refusal("max_batch", "abc"), "--max-batch expects a whole number, found 'abc'");
  EXPECT_EQ(refusal("max_batch", "0"), "--max-batch expects a whole number of at least 1, found '0'");
  EXPECT_EQ(refusal("max_batch", "1.5"), "--max-batch expects a whole number, found '1.5'");
  EXPECT_EQ(refusal("max_batch", "99999999999999999999"),
            "--max-batch expects a whole number, found '99999999999999999999'");
}

TEST(Resolve, ChecksTheRangesOfSampling) {
  EXPECT_EQ(refusal("top_p", "1"), "");
  EXPECT_EQ(refusal("top_p", "0"), "--top-p expects a number above 0 and at most 1, found '0'");
  EXPECT_NE(refusal("top_p", "1.01"), "");
  EXPECT_NE(refusal("top_p", "nan"), "");
  EXPECT_EQ(refusal("temperature", "0"), "");
  EXPECT_NE(refusal("temperature", "-0.5"), "");
  EXPECT_NE(refusal("temperature", "inf"), "");
  EXPECT_EQ(refusal("top_k", "0"), "");
  EXPECT_NE(refusal("top_k", "-2"), "");
  EXPECT_NE(refusal("prefill_chunk", "0"), "");
  EXPECT_NE(refusal("max_tokens", "0"), "");
  EXPECT_NE(refusal("max_seq_len", "0"), "");
}

TEST(Resolve, TakesTheWholeRangeOfSeeds) {
  EXPECT_EQ(resolve({{"seed", "18446744073709551615", Origin::kFlag, "--seed"}}).options.request.seed, UINT64_MAX);
  EXPECT_NE(refusal("seed", "-1"), "");
}

TEST(Resolve, SuggestsTheNearestWordOfAnEnum) {
  EXPECT_EQ(refusal("numerics", "offical"),
            "--numerics expects one of exact, weight_only, official, found 'offical'; did you mean 'official'?");
  EXPECT_EQ(refusal("bos", "sometimes"), "--bos expects one of auto, never, found 'sometimes'");
}

TEST(Resolve, ListsAllMissingOptionsAtOnce) {
  try {
    resolve_options(Command::kGenerate, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "generate needs --model DIR, --input FILE, --output FILE (see octet generate --help)");
  }
}

TEST(Resolve, RefusesAnEmptyPath) {
  EXPECT_EQ(refusal("summary", ""), "--summary expects a file, found ''");
}

TEST(ResolveRun, ReplacesAutoByTheCpuInABuildWithoutCuda) {
  RunOptions run;
  resolve_run(run, {.cuda = false});
  EXPECT_EQ(run.backend, Backend::kCpu);
  EXPECT_EQ(run.transport, Transport::kAuto);
  EXPECT_EQ(run.numerics, Numerics::kOfficial);
}

TEST(ResolveRun, RefusesWhatTheBuildLacksAsEnvironment) {
  RunOptions cuda;
  cuda.backend = Backend::kCuda;
  RunOptions nccl;
  nccl.transport = Transport::kNccl;
  for (RunOptions run : {cuda, nccl}) {
    try {
      resolve_run(run, {.cuda = false});
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kEnvironment);
      EXPECT_NE(std::string(e.what()).find("built without CUDA"), std::string::npos);
    }
  }
}

TEST(ResolveRun, RefusesACudaTransportOnTheCpu) {
  RunOptions run;
  run.backend = Backend::kCpu;
  run.transport = Transport::kNccl;
  EXPECT_THROW(resolve_run(run, {.cuda = true}), Error);
}

std::string campaign_refusal(const CampaignOptions& campaign, int64_t graph_cap) {
  try {
    check_campaign(campaign, graph_cap);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    return e.what();
  }
  return "";
}

TEST(Campaign, ASharedMixNeedsTheFoldedPost) {
  CampaignOptions campaign{.mhc_prenorm_shard = true};
  EXPECT_NE(campaign_refusal(campaign, 0).find("--mhc-prenorm-shard needs --mhc-post-sqrsum"), std::string::npos);
  campaign.mhc_post_sqrsum = true;
  EXPECT_EQ(campaign_refusal(campaign, 0), "");
}

TEST(Campaign, ThresholdsStayAboveTheGraphCap) {
  const CampaignOptions int8{.ar_int8 = true, .ar_int8_min_tokens = 96};
  EXPECT_EQ(campaign_refusal(int8, 95), "");
  for (const char* part : {"--ar-int8:", "--graph-cap 0", "--ar-int8-min-tokens is 96", "96 tokens"}) {
    EXPECT_NE(campaign_refusal(int8, 96).find(part), std::string::npos) << part;
  }
  const CampaignOptions shard{.mhc_post_sqrsum = true, .mhc_prenorm_shard = true, .mhc_prenorm_shard_min_tokens = 512};
  EXPECT_EQ(campaign_refusal(shard, 511), "");
  EXPECT_NE(campaign_refusal(shard, 512).find("--mhc-prenorm-shard-min-tokens is 512"), std::string::npos);
  EXPECT_EQ(campaign_refusal({.ar_int8_min_tokens = 1}, 96), "") << "a threshold of a flag that is off";
}

TEST(Verify, CountsTheSteps) {
  const auto steps = [](const char* text) {
    RunOptions run;
    run.verify = text;
    return verified_steps(run);
  };
  EXPECT_EQ(steps(""), 0);
  EXPECT_EQ(steps("replicas"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(steps("replicas=3"), 3);
  for (const char* bad : {"replica", "replicas=", "replicas=0", "replicas=-1", "replicas=2x", "replicas2", "all"}) {
    EXPECT_THROW(steps(bad), Error) << bad;
  }
}

TEST(OptionList, NamesEveryOptionOfACommandOnceAndExplainsIt) {
  for (const Command command : kCommands) {
    Options options;
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const OptionRow& row : option_rows(command, options)) {
      EXPECT_TRUE(names.insert(row.info.name).second) << row.info.name;
      EXPECT_TRUE(row.info.letter == 0 || letters.insert(row.info.letter).second) << row.info.name;
      EXPECT_FALSE(row.info.help.empty()) << row.info.name;
      EXPECT_TRUE(row.is_switch || row.info.required || !row.text().empty() || !row.info.absent.empty())
          << row.info.name;
    }
  }
}

}  // namespace
}  // namespace octet
