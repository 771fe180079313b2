// What generate says besides tokens: log-probabilities in rows, and the plan of a run that is not made.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/run_program.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

const std::string kModel = std::string(OCTET_TEST_DATA) + "/tiny-words";

class Generate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/octet_generate_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write_input(const std::string& lines) { std::ofstream(folder_ + "/in.jsonl") << lines; }
  std::string command(const std::string& more) const {
    return "generate -q -m " + kModel + " -i " + folder_ + "/in.jsonl -o " + folder_ + "/out.jsonl " + more;
  }
  std::vector<Json> rows() const {
    std::ifstream file(folder_ + "/out.jsonl");
    std::vector<Json> all;
    for (std::string line; std::getline(file, line);) all.push_back(parse_json(line, "out.jsonl"));
    return all;
  }

  std::string folder_;
};

TEST_F(Generate, LogProbabilitiesNameTheDrawnTokenFirstWhenGreedy) {
  write_input(R"({"prompt":"Tom has 3 pens","max_tokens":4,"temperature":0,"logprobs":true,"top_logprobs":3})"
              "\n");
  const Outcome run = octet_on(2, command(""));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Json> all = rows();
  ASSERT_EQ(all.size(), 1u);
  const Json* content = all[0].find("logprobs")->find("content");
  ASSERT_EQ(content->items.size(), all[0].find("token_ids")->items.size());
  for (const Json& token : content->items) {
    const double logprob = *token.find("logprob")->as_double();
    const Json& top = *token.find("top_logprobs");
    ASSERT_EQ(top.items.size(), 3u);
    EXPECT_EQ(top.items[0].find("token")->text, token.find("token")->text);
    EXPECT_EQ(*top.items[0].find("logprob")->as_double(), logprob);
    EXPECT_GT(logprob, std::log(1.0 / 1024)) << "the likeliest token has more than an equal share";
    double sum = 0, before = 0;
    for (const Json& one : top.items) {
      const double value = *one.find("logprob")->as_double();
      EXPECT_LE(value, before);
      before = value;
      sum += std::exp(value);
    }
    EXPECT_LE(sum, 1 + 1e-6);
  }
}

TEST_F(Generate, AnswersAChatAsAMessageInEveryForm) {
  const std::string messages = R"("messages":[{"role":"user","content":"Tom has 3 pens and buys 4 pens. How many?"}])";
  write_input("{\"id\":\"own\"," + messages + ",\"max_tokens\":5}\n{\"id\":\"two\"," + messages +
              ",\"max_tokens\":5,\"n\":2,\"temperature\":1}\n" +
              R"({"custom_id":"batch","method":"POST","url":"/v1/chat/completions",)" +
              R"("body":{"model":"tiny-words","max_tokens":5,)" + messages + "}}\n");
  const Outcome run = octet_on(2, command("--encoding v4 --temperature 0"));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Json> all = rows();
  ASSERT_EQ(all.size(), 3u);
  const auto content = [](const Json& holder) { return holder.find("message")->find("content")->text; };
  const std::string own = content(all[0]);
  EXPECT_FALSE(own.empty());
  EXPECT_EQ(all[0].find("text"), nullptr);
  EXPECT_EQ(all[1].find("choices")->items.size(), 2u);
  for (const Json& choice : all[1].find("choices")->items) EXPECT_FALSE(content(choice).empty());
  EXPECT_EQ(content(all[2].find("response")->find("body")->find("choices")->items.at(0)), own);
}

TEST_F(Generate, ADryRunCountsAndWritesNothing) {
  write_input(
      "{\"prompt_token_ids\":[0,301,28],\"max_tokens\":4}\n{\"prompt_token_ids\":[],\"max_tokens\":4}\n"
      "{\"prompt_token_ids\":[0,5],\"max_tokens\":7}\n");
  const Outcome run = octet_on(2, command("--dry-run"));
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_NE(run.out.find("3 lines: 2 would run, 1 would end with an error"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("5 prompt tokens, at most 11 new ones"), std::string::npos) << run.out;
  EXPECT_EQ(octet_on(2, command("--dry-run --resume")).code, 2) << "it would not say what is left";
  EXPECT_NE(run.out.find("mpirun -np 2 "), std::string::npos) << run.out;
  for (const char* name : {"out.jsonl", "out.jsonl.partial", "out.jsonl.run.json"}) {
    EXPECT_FALSE(fs::exists(folder_ + "/" + name)) << name;
  }
}

}  // namespace
}  // namespace octet::test
