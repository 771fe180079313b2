// Repeating a run from its record: the same rows, and a word about what has changed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"
#include "tests/cli/run_program.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The rows without their times.
std::string tokens_of(const std::string& path) {
  std::istringstream lines(slurp(path));
  std::string all;
  for (std::string line; std::getline(lines, line);) all += parse_json(line, path).find("token_ids")->dump() + "\n";
  return all;
}

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/octet_replay";
    fs::create_directories(folder_);
    std::ofstream(folder_ + "/in.jsonl") << R"({"prompt_token_ids":[0,301,28],"max_tokens":4})"
                                         << "\n";
    const Outcome run =
        octet_on(2, "generate -m " + std::string(OCTET_TEST_DATA) + "/tiny-words -i " + folder_ + "/in.jsonl -o " +
                        output_() + " --temperature 1 --seed 5 --summary " + folder_ + "/summary.json");
    ASSERT_EQ(run.code, 0) << run.err;
    ASSERT_TRUE(fs::exists(record()));
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string output_() const { return folder_ + "/out.jsonl"; }
  std::string record() const { return output_() + ".run.json"; }

  std::string folder_;
};

TEST_F(Replay, GivesTheSameRows) {
  const Outcome again = octet_on(2, "replay " + record() + " -o " + folder_ + "/again.jsonl");
  EXPECT_EQ(again.code, 0) << "the recorded summary stays: " << again.err;
  EXPECT_EQ(tokens_of(folder_ + "/again.jsonl"), tokens_of(output_()));
  EXPECT_NE(again.err.find("nothing differs"), std::string::npos) << again.err;
}

TEST_F(Replay, SaysWhatHasChanged) {
  std::string text = slurp(record());
  const size_t at = text.find("\"version\":\"");
  ASSERT_NE(at, text.npos);
  text.insert(at + 11, "9");
  std::ofstream(record()) << text;
  const Outcome again =
      octet_on(2, "replay " + record() + " -o " + folder_ + "/again.jsonl", "OMPI_MCA_mpi_yield_when_idle=1");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("replay: octet version: 9"), std::string::npos) << again.err;
  EXPECT_NE(again.err.find("OMPI_MCA_mpi_yield_when_idle: nothing -> 1"), std::string::npos) << again.err;
}

TEST_F(Replay, WantsTheSameRanksAndSaysTheCommand) {
  const Outcome alone = octet_alone("replay " + record() + " -o " + folder_ + "/again.jsonl");
  EXPECT_EQ(alone.code, 2) << alone.err;
  ASSERT_EQ(messages(alone).size(), 1u);
  EXPECT_NE(messages(alone)[0].find("mpirun -np 2 octet replay " + record()), std::string::npos) << alone.err;
}

TEST_F(Replay, RefusesWhatIsNoRecord) {
  EXPECT_EQ(octet_alone("replay " + folder_ + "/in.jsonl").code, 2);
  EXPECT_EQ(octet_alone("replay nowhere.json").code, 2);
  EXPECT_EQ(octet_alone("replay").code, 2);
  EXPECT_EQ(octet_on(2, "replay " + record()).code, 2);  // the output is there
}

}  // namespace
}  // namespace octet::test
