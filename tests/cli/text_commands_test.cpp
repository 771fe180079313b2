// octet tokenize and octet parse through the real program.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

const std::string kTokenize = "tokenize -m " + data_path("tiny-words") + " ";

class TextCommands : public testing::Test {
 protected:
  /// octet ARGUMENTS -i in -o out, where in holds these lines.
  Outcome run(const std::string& arguments, const std::string& lines) const {
    write_file(in_, lines);
    return octet_alone(arguments + " -i " + in_ + " -o " + out_ + " --force");
  }
  std::vector<Json> answers() const {
    std::vector<Json> all;
    std::ifstream file(out_);
    for (std::string line; std::getline(file, line);) all.push_back(parse_json(line, out_));
    return all;
  }

  TempFolder folder_;
  std::string in_ = folder_.file("in.jsonl"), out_ = folder_.file("out.jsonl");
};

TEST_F(TextCommands, TokenizeGivesTheRecordedTokens) {
  std::string lines;
  std::vector<std::string> expected;
  std::ifstream file(data_path("text/tiny_words_vectors.jsonl"));
  for (std::string line; std::getline(file, line);) {
    const Json vector = parse_json(line, "vector");
    lines += Json::object({{"text", *vector.find("prompt")}}).dump() + "\n";
    expected.push_back(vector.find("prompt_ids")->dump());
  }
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(run(kTokenize, lines).code, 0);
  ASSERT_EQ(answers().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(answers()[i].find("ids")->dump(), expected[i]);
}

TEST_F(TextCommands, AddedTokensAreMatchedUnlessTheTextIsPlain) {
  const std::string line = "{\"text\": \"<｜User｜>\"}\n";
  EXPECT_EQ(run(kTokenize, line).code, 0);
  EXPECT_EQ(read_file(out_), "{\"ids\":[1020]}\n");
  EXPECT_EQ(run(kTokenize + "--plain-text", line).code, 0);
  EXPECT_GT(answers().at(0).find("ids")->items.size(), 1u);
}

TEST_F(TextCommands, DecodeGivesTheTextBackWithItsSpecialTokens) {
  ASSERT_EQ(run(kTokenize, "{\"text\": \"<｜begin▁of▁sentence｜>A é 😀\"}").code, 0);
  const std::string ids = read_file(out_);
  EXPECT_EQ(run(kTokenize + "--decode", ids).code, 0);
  EXPECT_EQ(read_file(out_), "{\"text\":\"<｜begin▁of▁sentence｜>A é 😀\"}\n");
}

TEST_F(TextCommands, StandardInputAndOutputAreDashes) {
  const Outcome outcome =
      run_shell("printf '{\"text\": \"<think>\"}\\n' | " OCTET_PROGRAM " " + kTokenize + "-i - -o -");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "{\"ids\":[1022]}\n");
}

TEST_F(TextCommands, ABadLineIsAnErrorLineAndTheOthersStand) {
  const std::string good = "{\"text\": \"\"}\n";
  EXPECT_EQ(run(kTokenize, "nonsense\n\n[]\n{\"text\": 5}\n{}\n\"\xff\"\n" + good).code, 3);
  const std::vector<Json> rows = answers();
  ASSERT_EQ(rows.size(), 6u);
  const std::pair<const char*, const char*> kExpected[] = {{"invalid_json", "1"},
                                                           {"invalid_request", "3"},
                                                           {"invalid_request", "4"},
                                                           {"invalid_request", "5"},
                                                           {"invalid_json", "6"}};
  for (size_t i = 0; i < 5; ++i) {
    const Json* error = rows[i].find("error");
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->find("code")->text, kExpected[i].first);
    EXPECT_EQ(error->find("line")->text, kExpected[i].second);
  }
  EXPECT_EQ(rows[5].dump(), "{\"ids\":[]}");
  EXPECT_EQ(run(kTokenize + "--decode", "{\"ids\": [999999]}\n{\"ids\": [-1]}\n{\"ids\": [1.5]}\n{\"ids\": [65]}").code,
            3);
  EXPECT_EQ(answers().size(), 4u);
  EXPECT_NE(answers().at(3).find("text"), nullptr);
}

TEST_F(TextCommands, AnExistingOutputIsRefused) {
  write_file(in_, "{\"text\": \"a\"}");
  write_file(out_, "precious");
  EXPECT_EQ(octet_alone(kTokenize + "-i " + in_ + " -o " + out_).code, 2);
  EXPECT_EQ(octet_alone("parse -i " + in_ + " -o " + out_).code, 2);
  EXPECT_EQ(read_file(out_), "precious");
}

TEST_F(TextCommands, FilesThatAreNotThereEndTheRun) {
  EXPECT_EQ(octet_alone(kTokenize + "-i " + folder_.file("none") + " -o " + out_).code, 4);
  EXPECT_EQ(octet_alone("tokenize -m " + folder_.path() + " -i - -o -").code, 5);
  write_file(in_, "{\"text\": \"a\"}");
  EXPECT_EQ(octet_alone("parse -i " + in_ + " -o " + folder_.file("no/such/out")).code, 6);
}

TEST_F(TextCommands, ParseGivesMessages) {
  EXPECT_EQ(run("parse", "{\"text\": \"r</think>c\", \"thinking\": true, \"id\": \"q\"}\n").code, 0);
  EXPECT_EQ(read_file(out_),
            "{\"id\":\"q\",\"message\":{\"role\":\"assistant\",\"content\":\"c\",\"reasoning_content\":\"r\","
            "\"tool_calls\":[]},\"parse_status\":\"strict\"}\n");
}

TEST_F(TextCommands, ParseReadsToolCallsOfKnownToolsOnly) {
  const std::string call =
      "\\n\\n<｜DSML｜tool_calls>\\n<｜DSML｜invoke name=\\\"f\\\">\\n</｜DSML｜invoke>\\n</｜DSML｜tool_calls>";
  const std::string with =
      "{\"text\": \"" + call + "\", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"";
  EXPECT_EQ(run("parse", with + "f\"}}]}\n" + with + "g\"}}]}\n" + with.substr(0, with.size() - 10) + "7}}]}\n").code,
            3);
  const std::vector<Json> rows = answers();
  ASSERT_EQ(rows.size(), 3u);
  const Json& message = *rows[0].find("message");
  EXPECT_EQ(message.find("tool_calls")->items.at(0).find("function")->dump(), "{\"name\":\"f\",\"arguments\":\"{}\"}");
  EXPECT_EQ(rows[1].find("parse_status")->text, "unknown_tool");
  EXPECT_NE(rows[2].find("error"), nullptr);
}

TEST_F(TextCommands, ParseReadsTheOutputOfARun) {
  EXPECT_EQ(run("parse",
                "{\"id\": 7, \"text\": \"half\", \"token_ids\": [5], \"finish_reason\": \"length\", \"error\": null}\n"
                "{\"id\": 8, \"text\": \"cut\", \"finish_reason\": \"stop\", \"stop_reason\": \"X\"}\n"
                "{\"id\": 9, \"text\": \"whole\", \"finish_reason\": \"stop\", \"stop_reason\": null}\n"
                "{\"id\": 10, \"text\": null, \"error\": {\"code\": \"invalid_request\"}}\n")
                .code,
            3);
  ASSERT_EQ(answers().size(), 4u);
  EXPECT_EQ(answers()[0].find("parse_status")->text, "no_eos");
  EXPECT_EQ(answers()[1].find("parse_status")->text, "no_eos");
  EXPECT_EQ(answers()[2].find("parse_status")->text, "strict");
  EXPECT_EQ(answers()[3].dump(), "{\"error\":{\"code\":\"invalid_request\"}}");
}

}  // namespace
}  // namespace octet::test
