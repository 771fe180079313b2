// The campaign's flags and checks as a user meets them: what is refused at the start, what is said of the paths, and
// that every way of breaking a sum ends the run with 9.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "base/json.h"
#include "io/safetensors.h"
#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

const std::string kModel = data_path("tiny-words");
const std::string kInt8 = " --ar-int8 --ar-int8-min-tokens 1 --graph-cap 0";
const std::string kFused = " --mhc-post-sqrsum --mhc-prenorm-shard --mhc-prenorm-shard-min-tokens 1";

/// Three short prompts; the second holds token 300.
const std::string kPrompts = R"({"id":"a","prompt_token_ids":[5,6,7,299,9]}
{"id":"b","prompt_token_ids":[5,6,7,300,9]}
{"id":"c","prompt_token_ids":[5,6,7,301,9]}
)";

struct Ran {
  std::shared_ptr<TempFolder> folder = std::make_shared<TempFolder>();
  Outcome outcome;
  std::string file(const std::string& name) const { return folder->file(name); }
  std::string rows() const { return read_file(file("out.jsonl")); }
};

Ran run(int ranks, const std::string& flags, const std::string& environment = "", const std::string& model = kModel) {
  Ran r;
  write_file(r.file("in.jsonl"), kPrompts);
  r.outcome = octet_on(ranks,
                       "generate -m " + model + " -i " + r.file("in.jsonl") + " -o " + r.file("out.jsonl") +
                           " --max-tokens 3 --summary " + r.file("summary.json") + " " + flags,
                       environment);
  return r;
}

void expect_message(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  ASSERT_EQ(messages(outcome).size(), 1u) << outcome.err;
  EXPECT_NE(messages(outcome)[0].find(part), std::string::npos) << messages(outcome)[0];
}

/// Refused before MPI is needed.
Outcome refused(const std::string& flags) {
  return octet_alone("generate -m " + kModel + " -i nowhere.jsonl -o nowhere.out " + flags);
}

TEST(CampaignFlags, ContradictionsAreRefusedAtTheStart) {
  expect_message(refused("--mhc-prenorm-shard"), 2, "--mhc-prenorm-shard needs --mhc-post-sqrsum");
  expect_message(refused("--ar-int8 --ar-int8-min-tokens 96"), 2, "--graph-cap 0 keeps all steps eager");
  expect_message(refused("--ar-int8 --graph-cap 2048"), 2, "--ar-int8-min-tokens is 2048");
  expect_message(refused("--mhc-post-sqrsum --mhc-prenorm-shard --graph-cap 512"), 2,
                 "--mhc-prenorm-shard-min-tokens is 512");
  expect_message(refused("--ar-int8-min-tokens 0"), 2, "of at least 1");
  expect_message(refused("--verify replica"), 2, "--verify expects replicas or replicas=N");
}

TEST(CampaignFlags, TheLogAndTheSummaryCountTheEngagedSites) {
  const Ran all = run(2, kInt8 + kFused);
  ASSERT_EQ(all.outcome.code, 0) << all.outcome.err;
  for (const char* part : {"int8 sums at 12 of 12 sites, steps of 1 tokens or more", "folded posts at 11 of 12 sites",
                           "shared mixes at 11 of 12 sites", "0 with NaN or infinity; 0 clipped values"}) {
    EXPECT_NE(all.outcome.err.find(part), std::string::npos) << part << " in: " << all.outcome.err;
  }
  const Json summary = parse_json(read_file(all.file("summary.json")), "summary");
  const Json& campaign = *summary.find("campaign");
  const auto count = [](const Json& object, const char* key) { return object.find(key)->as_int().value_or(-1); };
  EXPECT_GT(count(campaign, "sums"), 0);
  EXPECT_EQ(count(campaign, "int8_sums"), count(campaign, "sums"));
  EXPECT_EQ(count(campaign, "shared_mixes"), count(campaign, "folded_posts"));
  ASSERT_EQ(campaign.find("sites")->items.size(), 12u);
  for (const Json& site : campaign.find("sites")->items) {
    EXPECT_EQ(count(site, "int8_sums") * 12, count(campaign, "int8_sums"));
    EXPECT_EQ(count(site, "clipped_values"), 0);
    EXPECT_GT(site.find("sqnr_db")->as_double().value_or(0), 33);
  }
  const Ran plain = run(2, "");
  EXPECT_EQ(plain.outcome.err.find("campaign:"), std::string::npos);
}

TEST(CampaignFlags, AThresholdThatNoStepReachesIsSaid) {
  const Ran ran = run(2, "--ar-int8 --prefill-chunk 8 --max-batch 2");
  EXPECT_EQ(ran.outcome.code, 0) << ran.outcome.err;
  EXPECT_NE(ran.outcome.err.find("steps of 2048 tokens or more (NONE: no step of this run has more than 9)"),
            std::string::npos)
      << ran.outcome.err;
}

TEST(CampaignFlags, AreInertOnOneRankAndSaySo) {
  const Ran r = run(1, kInt8 + kFused);
  EXPECT_EQ(r.outcome.code, 0) << r.outcome.err;
  EXPECT_NE(r.outcome.err.find("int8 sums at 0 of 12 sites"), std::string::npos) << r.outcome.err;
  EXPECT_NE(r.outcome.err.find("one rank has nobody to sum or share with"), std::string::npos);
}

TEST(SelfCheck, EveryBrokenSumEndsTheRunWithNineBeforeAnyRow) {
  for (const std::string& flags : {std::string(), kInt8 + kFused}) {
    for (const auto& [fault, part] : {std::pair{"skip_reduce:1.attn", "missing"},
                                      {"double_reduce:0.ffn", "twice"},
                                      {"corrupt_replica:5.ffn@1", "layer 5, ffn"}}) {
      const Ran broken = run(2, flags, std::string("OCTET_TEST_FAULT=") + fault);
      expect_message(broken.outcome, 9, part);
      EXPECT_FALSE(std::filesystem::exists(broken.file("out.jsonl"))) << fault;
    }
  }
}

TEST(VerifyReplicas, SeesAMissingSumAndADamagedReplicaWhileTheRunRuns) {
  const std::string checks = " --selfcheck=false --verify replicas";
  for (const std::string& flags : {std::string(), kInt8}) {
    const std::string form = flags.empty() ? "(rows)" : "(int8)";
    expect_message(run(2, flags + checks, "OCTET_TEST_FAULT=skip_reduce:1.attn").outcome, 9, "layer 1, attn " + form);
    expect_message(run(2, flags + checks, "OCTET_TEST_FAULT=corrupt_replica:2.ffn@1").outcome, 9, "rank 1 of 2 differ");
    EXPECT_EQ(run(2, flags + checks, "OCTET_TEST_FAULT=double_reduce:2.ffn").outcome.code, 0) << "replicas stay equal";
    EXPECT_EQ(run(2, flags + checks).outcome.code, 0);
  }
}

TEST(VerifyReplicas, StopsAfterItsSteps) {
  const std::string fault = "OCTET_TEST_FAULT=corrupt_replica:2.ffn@1";
  EXPECT_EQ(run(2, "--selfcheck=false", fault).outcome.code, 0) << "nobody looks";
  EXPECT_EQ(run(2, "--selfcheck=false --verify replicas=1", fault).outcome.code, 9);
}

/// tiny-words whose embedding of token 300 is the largest bf16: finite, and nothing after it is.
void write_model_with_a_huge_row(const std::string& folder) {
  std::filesystem::copy(kModel, folder, std::filesystem::copy_options::recursive);
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".safetensors") continue;
    for (const SafetensorsEntry& e : read_safetensors_header(file.path()).entries) {
      if (e.tensor.name != "embed.weight") continue;
      const int64_t width = e.tensor.shape[1], row_bytes = width * 2;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(e.offset + 300 * row_bytes);
      for (int64_t i = 0; i < width; ++i) bytes.write("\x7f\x7f", 2);
    }
  }
}

TEST(OnNan, EndsTheRunOrOnlyTheLine) {
  const TempFolder folder;
  const std::string model = folder.file("model");
  write_model_with_a_huge_row(model);
  for (const std::string& flags : {std::string(), kInt8 + kFused}) {
    expect_message(run(2, flags, "", model).outcome, 9, "not finite");
    const Ran some = run(2, flags + " --on-nan item-error", "", model);
    EXPECT_EQ(some.outcome.code, 3) << some.outcome.err;
    const Ran good = run(2, flags, "");
    std::istringstream rows(some.rows()), good_rows(good.rows());
    std::string row, good_row;
    for (const std::string id : {"a", "b", "c"}) {
      std::getline(rows, row);
      std::getline(good_rows, good_row);
      const Json json = parse_json(row, "row"), good_json = parse_json(good_row, "row");
      if (id == "b") {
        EXPECT_EQ(json.find("error")->find("code")->text, "internal");
        EXPECT_NE(row.find("its logits are not finite"), std::string::npos);
      } else {
        EXPECT_EQ(json.find("token_ids")->dump(), good_json.find("token_ids")->dump()) << "a neighbour of a bad line";
      }
    }
  }
}

}  // namespace
}  // namespace octet::test
