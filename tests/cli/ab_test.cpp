// octet ab and octet bench with the real program: what they refuse, that the null arm passes, and that a planted
// slowdown and a planted fault are found. Times on a busy machine are noisy: the slowdown is 30 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/json.h"
#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

const std::string kModel = data_path("tiny-words");
const std::string kPrefill = "ab prefill -m " + kModel + " --lengths 96 --repeat 20 -q ";

void expect_refused(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  ASSERT_EQ(messages(outcome).size(), 1u) << outcome.err;
  EXPECT_NE(messages(outcome)[0].find(part), std::string::npos) << messages(outcome)[0];
}

TEST(Ab, RefusesArmsThatMeanNothing) {
  const std::string ab = "ab prefill -m " + kModel + " ";
  expect_refused(octet_alone("ab -m " + kModel), "ab needs --mode");
  expect_refused(octet_alone(ab + "--arm x:ar_int9"), "did you mean");
  expect_refused(octet_alone(ab + "--arm x: --arm x:"), "two arms of this name");
  expect_refused(octet_alone(ab + "--arm x:mhc_prenorm_shard"), "needs --mhc-post-sqrsum");
  expect_refused(octet_alone(ab + "--arm x:ar_int8_min_tokens=none"), "whole number");
  expect_refused(octet_alone(ab + "--arm null:"), "null");
  expect_refused(octet_alone(ab + "--concurrency 2"), "belongs to octet ab decode");
  expect_refused(octet_alone("ab generate -m " + kModel), "needs --input FILE");
  expect_refused(octet_alone("ab decode -m " + kModel + " --concurrency 99"), "--max-batch");
  expect_refused(octet_alone(ab + "--lengths 99999999"), "--lengths");
}

struct AbRun {
  Outcome outcome;
  Json json;
};

/// Again, at most five times, while the null arm fails or intervals are wide: then the machine was too busy for times.
AbRun run_ab(const std::string& arguments, const std::string& environment = "") {
  AbRun run;
  for (int i = 0; i < 6; ++i) {
    const TempFolder work;
    run.outcome = octet_on(2, arguments + " --json " + work.file("ab.json"), environment);
    EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
    if (run.outcome.code != 0) return run;
    run.json = parse_json(read_file(work.file("ab.json")), "ab.json");
    const auto& ends = run.json.find("null")->find("ci95")->items;
    const double width = ends[1].as_double().value_or(1) - ends[0].as_double().value_or(0);
    if (run.json.find("verdict")->is(Json::Kind::kString) && width < 0.1) return run;
  }
  return run;
}

TEST(Ab, TheNullArmPassesAndThePathsAreThoseThatRan) {
  const AbRun run = run_ab(kPrefill + "--arm int8:ar_int8,ar_int8_min_tokens=1 --arm same:");
  ASSERT_EQ(run.outcome.code, 0);
  EXPECT_EQ(run.json.find("null")->find("pass")->dump(), "true") << run.outcome.out;
  const auto& arms = run.json.find("arms")->items;
  ASSERT_EQ(arms.size(), 3u);
  EXPECT_EQ(arms[0].find("name")->text, "control");
  EXPECT_EQ(arms[0].find("path")->text, "bf16");
  EXPECT_EQ(arms[1].find("path")->text, "int8 240/240");
  EXPECT_EQ(arms[2].find("path")->text, "bf16");
  for (const Json& arm : arms) EXPECT_EQ(arm.find("ttft_ms")->items.size(), 20u);
  EXPECT_TRUE(run.json.find("wrong")->items.empty()) << run.outcome.out;
  EXPECT_NE(run.outcome.out.find("verdict: "), std::string::npos);
}

TEST(Ab, FindsAPlantedSlowdown) {
  const AbRun run = run_ab(kPrefill + "--arm slow:", "OCTET_TEST_ARM_FAULT=slow=slow:30");
  ASSERT_EQ(run.outcome.code, 0);
  ASSERT_TRUE(run.json.find("verdict")->is(Json::Kind::kString)) << run.outcome.out;
  EXPECT_NE(run.json.find("verdict")->text.find("slow is "), std::string::npos) << run.outcome.out;
  EXPECT_NE(run.json.find("verdict")->text.find(" slower than control"), std::string::npos) << run.outcome.out;
  const double delta = run.json.find("compare")->items.at(0).find("ttft_delta")->as_double().value_or(0);
  EXPECT_GT(delta, 0.15);
  EXPECT_LT(delta, 0.5);
}

TEST(Ab, NamesAPlantedWrongArm) {
  for (const std::string& mode : {std::string("prefill --lengths 40 --repeat 3"),
                                  std::string("decode --context 24 --concurrency 2 --steps 2 --repeat 3")}) {
    for (const std::string fault : {"double_reduce:1.ffn", "skip_reduce:3.attn"}) {
      const TempFolder work;
      const Outcome outcome =
          octet_on(2,
                   "ab " + mode + " -m " + kModel +
                       " -q --arm fine:ar_int8,ar_int8_min_tokens=1 --arm broken: --json " + work.file("ab.json"),
                   "OCTET_TEST_ARM_FAULT=broken=" + fault);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      const Json json = parse_json(read_file(work.file("ab.json")), "ab.json");
      ASSERT_EQ(json.find("wrong")->items.size(), 1u) << outcome.out;
      EXPECT_EQ(json.find("wrong")->items[0].text, "broken");
      EXPECT_NE(outcome.out.find("WRONG: broken"), std::string::npos);
    }
  }
}

TEST(Ab, GenerateComparesTokensAndForcedLogits) {
  const TempFolder work;
  write_file(work.file("in.jsonl"), R"({"id":"a","prompt_token_ids":[0,301,28],"max_tokens":6}
{"id":"b","prompt_token_ids":[5,6,7,8],"max_tokens":6}
{"id":"c","prompt_token_ids":[9,10,11],"max_tokens":6}
)");
  const Outcome outcome = octet_on(2, "ab generate -m " + kModel + " -q -i " + work.file("in.jsonl") +
                                          " --arm int8:ar_int8,ar_int8_min_tokens=1 --json " + work.file("ab.json"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = parse_json(read_file(work.file("ab.json")), "ab.json");
  const Json& compare = json.find("compare")->items.at(0);
  EXPECT_EQ(compare.find("tokens")->find("prompts")->as_int(), 3);
  EXPECT_EQ(compare.find("results")->find("places")->as_int(), 18);
  EXPECT_GT(compare.find("results")->find("kl")->as_double().value_or(0), 0);
  EXPECT_LT(compare.find("results")->find("shift")->as_double().value_or(1), 0.35);
}

TEST(BenchReduce, GivesBytesAndErrorsOfEveryForm) {
  const TempFolder work;
  const Outcome outcome =
      octet_on(4, "bench reduce --tokens 1,64 --hidden 256 --repeat 3 -q --json " + work.file("b.json"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = parse_json(read_file(work.file("b.json")), "b.json");
  const auto& sums = json.find("sums")->items;
  ASSERT_EQ(sums.size(), 6u);
  const auto number = [](const Json& row, const char* key) { return row.find(key)->as_double().value_or(-1); };
  const Json &fp32 = sums[3], &bf16 = sums[4], &int8 = sums[5];
  EXPECT_EQ(int8.find("form")->text, "int8");
  EXPECT_EQ(int8.find("path")->text, "peer memory");
  EXPECT_EQ(number(int8, "payload_bytes"), 64 * 256 / 32 * 34);
  EXPECT_EQ(number(int8, "wire_bytes"), 2 * 3 * 64 * 256 / 32 * 34 / 4);
  EXPECT_EQ(number(bf16, "wire_bytes"), 2 * 3 * 64 * 256 * 2 / 4);
  EXPECT_LT(number(fp32, "relative_error"), 1e-6);
  EXPECT_NEAR(number(bf16, "relative_error"), 2.3e-3, 1e-3);
  EXPECT_NEAR(number(int8, "relative_error"), 7.6e-3, 1e-3);
  EXPECT_GT(number(int8, "median_us"), 0);
  expect_refused(octet_alone("bench reduce"), "two ranks or more");
}

}  // namespace
}  // namespace octet::test
