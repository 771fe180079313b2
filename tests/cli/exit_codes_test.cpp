// Exit codes and messages of the real program: one message, from one rank, and the same code from all.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_program.h"

namespace octet::test {
namespace {

const std::string kModel = std::string(OCTET_TEST_DATA) + "/tiny-words";
const std::string kFiles = "-m " + kModel + " -i " + OCTET_TEST_DATA + "/nowhere.jsonl -o nowhere.out ";

void expect_one_message(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  ASSERT_EQ(messages(outcome).size(), 1u) << outcome.err;
  EXPECT_NE(messages(outcome)[0].find(part), std::string::npos) << messages(outcome)[0];
  EXPECT_EQ(outcome.out, "");
}

TEST(Help, IsOnStdoutOnceAndSucceeds) {
  const Outcome alone = octet_alone("generate --help");
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.err, "");
  const Outcome eight = octet_on(8, "generate --help");
  EXPECT_EQ(eight.code, 0);
  EXPECT_EQ(eight.out, alone.out);
}

TEST(Version, IsOneLine) {
  const Outcome outcome = octet_alone("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
}

TEST(Usage, EndsWithTwoAndOneMessage) {
  expect_one_message(octet_alone(""), 2, "no command given");
  expect_one_message(octet_alone("genrate"), 2, "did you mean 'generate'?");
  expect_one_message(octet_alone("generate"), 2, "generate needs --model DIR");
  expect_one_message(octet_alone("generate " + kFiles + "--max-bach 2"), 2, "did you mean '--max-batch'?");
  expect_one_message(octet_alone("generate " + kFiles + "--max-batch abc"), 2, "expects a whole number");
  expect_one_message(octet_alone("generate " + kFiles + "--top-p 0"), 2, "above 0 and at most 1");
  expect_one_message(octet_alone("score " + kFiles + "--split 0"), 2, "of at least 1");
  expect_one_message(octet_alone("inspect"), 2, "inspect needs --model DIR");
  expect_one_message(octet_alone("synth --config c"), 2, "synth needs --output DIR");
}

TEST(Usage, EndsWithTwoAndOneMessageOnEightRanks) {
  expect_one_message(octet_on(8, "genrate"), 2, "did you mean 'generate'?");
  expect_one_message(octet_on(8, "generate " + kFiles + "--max-batch abc"), 2, "expects a whole number");
  expect_one_message(octet_on(8, "inspect"), 2, "inspect needs --model DIR");
}

TEST(Environment, VariablesAreCheckedLikeFlags) {
  const std::string run = std::string(OCTET_PROGRAM) + " generate " + kFiles;
  expect_one_message(run_shell("OCTET_MAX_BACH=2 " + run), 2, "did you mean 'OCTET_MAX_BATCH'?");
  expect_one_message(run_shell("OCTET_MAX_BATCH=x " + run), 2, "OCTET_MAX_BATCH expects a whole number");
}

TEST(Config, FileIsNamedWithItsLine) {
  const std::string path = testing::TempDir() + "/octet_cli_config.yaml";
  const std::string use = "generate " + kFiles + "--config " + path;
  const std::string write = "printf 'seed: 1\\nmax_bach: 2\\n' > " + path;
  ASSERT_EQ(run_shell(write).code, 0);
  expect_one_message(octet_alone(use), 2, "octet_cli_config.yaml:2: 'max_bach' is no option");
  expect_one_message(octet_on(2, use), 2, "octet_cli_config.yaml:2: 'max_bach' is no option");
  run_shell("rm " + path);
  expect_one_message(octet_alone(use), 2, "cannot read the --config file");
}

TEST(Build, RefusesWhatItLacksAsEnvironment) {
  expect_one_message(octet_on(2, "generate " + kFiles + "--backend cuda"), 6, "built without CUDA");
  expect_one_message(octet_alone("generate " + kFiles + "--transport nccl"), 6, "built without CUDA");
}

TEST(Ranks, RanksWithOtherOptionsThanRankZeroAreRefused) {
  const std::string run = std::string(OCTET_PROGRAM) + " generate " + kFiles;
  const std::string both =
      std::string(OCTET_MPIRUN) + " --oversubscribe -np 1 " + run + " : -np 1 env OCTET_SEED=3 " + run;
  expect_one_message(run_shell(both), 2, "rank 1: other options than rank 0's");
}

TEST(Ranks, OnlyCountsThatDivideTheModelRun) {
  expect_one_message(octet_on(3, "generate " + kFiles), 2, "3");
  expect_one_message(octet_on(16, "generate " + kFiles), 2, "16");
}

TEST(Model, AMissingFolderIsACheckpointError) {
  const std::string run =
      "generate -m no/such/model -i " + std::string(OCTET_TEST_DATA) + "/nowhere.jsonl -o nowhere.out";
  expect_one_message(octet_on(2, run), 5, "no/such/model");
  expect_one_message(octet_alone("inspect -m no/such/model"), 5, "no/such/model");
}

TEST(Input, AMissingPromptFileIsAnInputError) {
  expect_one_message(octet_on(2, "generate " + kFiles), 4, "nowhere.jsonl");
}

}  // namespace
}  // namespace octet::test
