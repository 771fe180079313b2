// The commands around a run: plan, doctor, config show, help, version.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/json.h"
#include "tests/cli/run_program.h"

namespace octet::test {
namespace {

const std::string kWords = std::string(OCTET_TEST_DATA) + "/tiny-words";

Json json_of(const Outcome& outcome) {
  return parse_json(outcome.out, "stdout");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(Plan, PrintsATableOrJson) {
  const Outcome table = octet_alone("plan -m " + kWords + " --ranks 2 --max-seq-len 1024");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(has(table.out, "the headers of 8 files")) << table.out;
  EXPECT_TRUE(has(table.out, "fits a memory of 80.000 GiB")) << table.out;
  EXPECT_TRUE(has(table.out, "fits with --max-batch")) << table.out;
  const Json json = json_of(octet_on(2, "plan -m " + kWords + " --ranks 2 --max-seq-len 1024 --json"));
  EXPECT_EQ(json.find("ranks")->as_int(), 2);
  EXPECT_EQ(json.find("context")->as_int(), 1024);
  const auto part = [&](const char* name) { return json.find(name)->as_int().value_or(0); };
  EXPECT_EQ(part("weight_bytes") + part("cache_bytes") + part("scratch_bytes") + part("logits_bytes"),
            part("total_bytes"));
}

TEST(Plan, NeedsNoShards) {
  const std::string folder = testing::TempDir() + "/octet_plan_config_alone";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(std::string(OCTET_TEST_DATA) + "/configs/v4-flash.json", folder + "/config.json",
                             std::filesystem::copy_options::overwrite_existing);
  const Outcome outcome = octet_alone("plan -m " + folder + " --card-gib 80 --max-seq-len 262144 --max-batch 500");
  EXPECT_EQ(outcome.code, 7) << "500 sequences of that length do not fit: " << outcome.err;
  EXPECT_TRUE(has(outcome.out, "config.json alone")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "context 262,144 fits with --max-batch")) << outcome.out;
  std::filesystem::remove_all(folder);
}

TEST(Plan, RefusesWhatARunWouldRefuse) {
  EXPECT_EQ(octet_alone("plan -m " + kWords + " --ranks 3").code, 2);
  EXPECT_EQ(octet_alone("plan -m " + kWords + " --max-seq-len 99999999").code, 2);
  EXPECT_EQ(octet_alone("plan -m no/such/model").code, 5);
}

TEST(Doctor, LooksAtTheMachineAlone) {
  const Outcome outcome = octet_alone("doctor -m " + kWords + " --max-seq-len 1024 --json");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const Json json = json_of(outcome);
  EXPECT_TRUE(json.find("ok")->boolean);
  EXPECT_EQ(json.find("ranks")->items.size(), 1u);
  for (const char* check : {"launcher", "shared memory", "open files", "MPI", "CUDA", "checkpoint", "tokenizer"}) {
    EXPECT_TRUE(has(outcome.out, std::string("\"check\":\"") + check + "\"")) << check << outcome.out;
  }
}

TEST(Doctor, TriesACollectiveUnderMpirun) {
  const Outcome outcome = octet_on(4, "doctor");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out, "OK   collective: 32 KiB gathered from each of 4 ranks")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "every value right")) << outcome.out;
}

TEST(Doctor, ABrokenModelOrTooFewOpenFilesFailWithSix) {
  const Outcome model = octet_on(2, "doctor -m no/such/model");
  EXPECT_EQ(model.code, 6) << model.out << model.err;
  EXPECT_TRUE(has(model.out, "FAIL checkpoint: no/such/model")) << model.out;
  EXPECT_TRUE(has(model.out, "fix: ")) << model.out;
  const Outcome files = run_shell("ulimit -n 128; " + std::string(OCTET_PROGRAM) + " doctor");
  EXPECT_EQ(files.code, 6) << files.out << files.err;
  EXPECT_TRUE(has(files.out, "FAIL open files: 128")) << files.out;
}

TEST(ConfigShow, SaysWhereEveryValueCameFrom) {
  const std::string path = testing::TempDir() + "/octet_config_show.yaml";
  ASSERT_EQ(run_shell("printf 'seed: 1\\nmax_batch: 3\\n' > " + path).code, 0);
  const Outcome outcome = run_shell("OCTET_TOP_K=7 OCTET_MAX_BATCH=4 " + std::string(OCTET_PROGRAM) +
                                    " config show --origin generate --temperature 0.5 --config " + path);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto expect_line = [&](const std::string& name, const std::string& value, const std::string& origin) {
    const size_t begin = outcome.out.find("\n" + name + " ");
    ASSERT_NE(begin, outcome.out.npos) << name << outcome.out;
    const std::string line = outcome.out.substr(begin + 1, outcome.out.find('\n', begin + 1) - begin - 1);
    EXPECT_TRUE(has(line, "= " + value)) << line;
    EXPECT_TRUE(has(line, origin)) << line;
  };
  expect_line("temperature", "0.5", "flag --temperature");
  expect_line("top_k", "7", "variable OCTET_TOP_K");
  expect_line("max_batch", "4", "variable OCTET_MAX_BATCH");
  expect_line("seed", "1", "file " + path + ":1");
  expect_line("prefill_chunk", "8192", "default");
  EXPECT_EQ(octet_alone("config show --temperature x").code, 2);
  EXPECT_EQ(octet_alone("config shwo").code, 2);
  std::filesystem::remove(path);
}

TEST(ConfigShow, JsonHasAnEntryForEveryOption) {
  const Json json = json_of(octet_alone("config show --json --origin score --split 4"));
  EXPECT_EQ(json.find("command")->text, "score");
  EXPECT_EQ(json.find("options")->find("split")->find("value")->text, "4");
  EXPECT_EQ(json.find("options")->find("split")->find("origin")->text, "flag");
  EXPECT_TRUE(json.find("options")->find("model")->find("value")->is(Json::Kind::kNull));
}

TEST(Help, OfACommandIsTheSameEitherWay) {
  for (const char* command : {"generate", "plan", "doctor", "replay"}) {
    const Outcome help = octet_alone(std::string("help ") + command);
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out, octet_alone(std::string(command) + " --help").out);
  }
  EXPECT_EQ(octet_alone("help").out, octet_alone("--help").out);
  EXPECT_EQ(octet_alone("help genrate").code, 2);
}

TEST(Version, JsonSaysWhatWasBuiltAndWhatRuns) {
  const Json json = json_of(octet_on(2, "--version --json"));
  for (const char* key : {"version", "git_commit", "build_type", "compiler", "mpi", "cuda", "backends", "gpu_archs"}) {
    EXPECT_NE(json.find(key), nullptr) << key;
  }
  EXPECT_TRUE(has(json.find("mpi")->find("loaded")->text, "Open MPI")) << json.dump();
  EXPECT_EQ(octet_alone("--version --jsn").code, 2);
}

}  // namespace
}  // namespace octet::test
