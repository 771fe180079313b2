// Outputs that must not be written are refused before any work, and numbers that mean nothing end the run.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

class Outputs : public testing::Test {
 protected:
  Outputs() {
    write_file(in_, R"({"prompt_token_ids": [0, 301, 28], "max_tokens": 2})"
                    "\n");
  }
  Outcome generate(const std::string& rest, int ranks = 1) const {
    return octet_on(ranks, "generate -q -m " + model_ + " -i " + in_ + " " + rest);
  }
  /// Exit 2, one message with these words, and the input as it was.
  void expect_refused(const Outcome& run, const std::string& words) const {
    EXPECT_EQ(run.code, 2) << run.err;
    ASSERT_EQ(messages(run).size(), 1u) << run.err;
    EXPECT_NE(messages(run)[0].find(words), std::string::npos) << messages(run)[0];
    EXPECT_NE(read_file(in_).find("prompt_token_ids"), std::string::npos);
  }
  const TempFolder work_;
  const std::string in_ = work_.path() + "/in.jsonl", out_ = work_.path() + "/out.jsonl";
  std::string model_ = data_path("tiny-words");
};

TEST_F(Outputs, AreNeverTheInput) {
  expect_refused(generate("-o " + in_ + " --force"), "the input or another output");
}

TEST_F(Outputs, AreNeverEachOther) {
  expect_refused(generate("-o " + out_ + " --summary " + work_.path() + "/./out.jsonl"), "the input or another output");
}

TEST_F(Outputs, AreNeverADeviceOrAFolder) {
  expect_refused(generate("-o /dev/null --force"), "no regular file");
  expect_refused(generate("-o " + work_.path() + " --force"), "no regular file");
}

TEST_F(Outputs, NeedTheirFolder) {
  expect_refused(generate("-o " + work_.path() + "/none/out"), "there is no folder");
}

TEST_F(Outputs, OfTheSummaryAreKeptWithoutForce) {
  write_file(work_.path() + "/s.json", "KEEP");
  expect_refused(generate("-o " + out_ + " --summary " + work_.path() + "/s.json"), "--force overwrites it");
  EXPECT_EQ(read_file(work_.path() + "/s.json"), "KEEP");
}

TEST_F(Outputs, LogitsThatAreNotFiniteEndTheRunOnEveryRank) {
  std::filesystem::copy(model_, work_.path() + "/model");
  std::string config = read_file(model_ + "/config.json");
  const std::string field = "\"routed_scaling_factor\": 1.5";
  ASSERT_NE(config.find(field), std::string::npos);
  config.replace(config.find(field), field.size(), "\"routed_scaling_factor\": 1e308");
  std::filesystem::permissions(work_.path() + "/model/config.json", std::filesystem::perms::owner_all);
  write_file(work_.path() + "/model/config.json", config);
  model_ = work_.path() + "/model";
  for (const int ranks : {1, 2}) {
    const Outcome run = generate("-o " + out_ + std::to_string(ranks), ranks);
    EXPECT_EQ(run.code, 9) << run.err;
    ASSERT_EQ(messages(run).size(), 1u) << run.err;
    EXPECT_NE(messages(run)[0].find("not finite"), std::string::npos);
  }
}

}  // namespace
}  // namespace octet::test
