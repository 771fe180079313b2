// Input lines: what is read, and which error each bad line becomes.
#include "io/prompts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

Prompt only_prompt(const std::string& line, PromptForm form = PromptForm::kGenerate) {
  const std::vector<Prompt> prompts = parse_prompts(line, form);
  EXPECT_EQ(prompts.size(), 1u);
  return prompts.empty() ? Prompt{} : prompts.front();
}

/// "code: message", or nothing.
std::string error_of(const std::string& line, PromptForm form = PromptForm::kGenerate) {
  const Prompt p = only_prompt(line, form);
  return p.error ? p.error->code + ": " + p.error->message : "";
}

TEST(Prompts, ReadsEveryField) {
  const Prompt p = only_prompt(R"({"id":"a","prompt":"Hi","max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":-1,)"
                               R"("seed":18446744073709551615,"stop":["x","yz"],"ignore_eos":true})");
  EXPECT_FALSE(p.error);
  EXPECT_EQ(p.id.text, "a");
  EXPECT_EQ(p.inputs.at(0).text, "Hi");
  EXPECT_EQ(p.max_tokens, 5);
  EXPECT_EQ(p.temperature, 0.5);
  EXPECT_EQ(p.top_p, 0.9);
  EXPECT_EQ(p.top_k, 0);
  EXPECT_EQ(p.seed, 18446744073709551615u);
  EXPECT_EQ(p.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(p.ignore_eos);
}

TEST(Prompts, ReadsTokenIdsAndOneStopString) {
  const Prompt p = only_prompt(R"({"prompt_token_ids":[0,7,8],"stop":"x"})");
  EXPECT_FALSE(p.error);
  EXPECT_EQ(p.inputs.at(0).tokens, (std::vector<int32_t>{0, 7, 8}));
  EXPECT_EQ(p.stop, std::vector<std::string>{"x"});
}

TEST(Prompts, TakesNullForAbsent) {
  const Prompt p = only_prompt(R"({"id":null,"prompt":null,"prompt_token_ids":[1],"max_tokens":null,"stop":null})");
  EXPECT_FALSE(p.error);
  EXPECT_EQ(p.id.as_int(), 1);
  EXPECT_FALSE(p.max_tokens);
}

TEST(Prompts, CountsBlankLinesButSkipsThem) {
  const std::vector<Prompt> prompts =
      parse_prompts("\xef\xbb\xbf\n{\"prompt\":\"a\"}\r\n  \t\r\n\n{\"prompt\":\"b\"}", PromptForm::kGenerate);
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[0].line, 2);
  EXPECT_EQ(prompts[1].line, 5);
  EXPECT_EQ(prompts[1].id.as_int(), 5);
}

TEST(Prompts, TakesALineOfTextAsAPrompt) {
  const std::vector<Prompt> prompts = parse_prompts("{\"a\r\n\n b\n", PromptForm::kText);
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[0].inputs.at(0).text, "{\"a");
  EXPECT_EQ(prompts[1].inputs.at(0).text, " b");
  EXPECT_EQ(prompts[1].line, 3);
}

TEST(Prompts, ReadsAContinuationToScore) {
  const Prompt p = only_prompt(R"({"id":3,"prompt_token_ids":[1],"continuation_token_ids":[2,3]})", PromptForm::kScore);
  EXPECT_FALSE(p.error);
  EXPECT_EQ(p.id.as_int(), 3);
  EXPECT_EQ(p.continuation, (std::vector<int32_t>{2, 3}));
}

struct BadLine {
  const char* line;
  const char* error;  // the beginning of "code: message"
};

class BadPrompts : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadPrompts, BecomeAnErrorOfTheirLine) {
  const std::string error = error_of(GetParam().line);
  EXPECT_EQ(error.substr(0, std::string(GetParam().error).size()), GetParam().error) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Prompts, BadPrompts,
    ::testing::Values(
        BadLine{R"({"prompt":"a")", "invalid_json: line 1"}, BadLine{R"({"prompt":"a"} x)", "invalid_json: line 1"},
        BadLine{R"({"prompt":"a","prompt":"b"})", "invalid_json: line 1"},
        BadLine{R"(["a"])", "invalid_request: expected an object"},
        BadLine{R"({"id":"a"})", "invalid_request: prompt or prompt_token_ids is missing"},
        BadLine{R"({"prompt":"a","prompt_token_ids":[1]})", "invalid_request: prompt and prompt_token_ids exclude"},
        BadLine{R"({"prompt":""})", "invalid_request: the prompt is empty"},
        BadLine{R"({"prompt_token_ids":[]})", "invalid_request: the prompt is empty"},
        BadLine{R"({"prompt":7})", "invalid_request: prompt: expected a string, found 7"},
        BadLine{R"({"prompt_token_ids":[1,-1]})", "invalid_request: prompt_token_ids: expected a list of token ids"},
        BadLine{R"({"prompt_token_ids":[1.5]})", "invalid_request: prompt_token_ids: expected a list of token ids"},
        BadLine{R"({"prompt":"a","promt":1})", "invalid_request: unknown key \"promt\""},
        BadLine{R"({"prompt":"a","continuation_token_ids":[1]})", "invalid_request: unknown key"},
        BadLine{R"({"messages":[]})", "invalid_request: messages: expected a list of messages"},
        BadLine{R"({"prompt":"a","max_tokens":0})", "invalid_request: max_tokens: expected an integer of at least 1"},
        BadLine{R"({"prompt":"a","max_tokens":1.5})", "invalid_request: max_tokens"},
        BadLine{R"({"prompt":"a","temperature":-1})", "invalid_request: temperature: expected a number of at least 0"},
        BadLine{R"({"prompt":"a","temperature":1e999})", "invalid_"},
        BadLine{R"({"prompt":"a","top_p":0})", "invalid_request: top_p: expected a number above 0 and at most 1"},
        BadLine{R"({"prompt":"a","top_p":1.1})", "invalid_request: top_p"},
        BadLine{R"({"prompt":"a","top_k":-2})", "invalid_request: top_k"},
        BadLine{R"({"prompt":"a","seed":-1})", "invalid_request: seed: expected an integer from 0 to 2^64 - 1"},
        BadLine{R"({"prompt":"a","stop":[""]})", "invalid_request: stop"},
        BadLine{R"({"prompt":"a","stop":7})", "invalid_request: stop"},
        BadLine{R"({"prompt":"a","ignore_eos":1})", "invalid_request: ignore_eos: expected true or false"},
        BadLine{R"({"id":[1],"prompt":"a"})", "invalid_request: id: expected a string or an integer"}));

TEST(Prompts, KeepsTheIdOfABadLineThatCouldBeRead) {
  EXPECT_EQ(only_prompt(R"({"id":"a","prompt":7})").id.text, "a");
  EXPECT_TRUE(only_prompt(R"({"id":"a")").id.is(Json::Kind::kNull));
}

TEST(Prompts, RefusesASecondLineOfTheSameId) {
  const std::vector<Prompt> prompts =
      parse_prompts("{\"id\":\"2\",\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n{\"prompt\":\"c\"}\n", PromptForm::kGenerate);
  ASSERT_EQ(prompts.size(), 3u);
  EXPECT_FALSE(prompts[0].error);
  ASSERT_TRUE(prompts[1].error);  // its line number is the first one's id
  EXPECT_EQ(prompts[1].error->code, "duplicate_custom_id");
  EXPECT_FALSE(prompts[2].error);
}

TEST(Prompts, NeedsTokenIdsToScore) {
  EXPECT_EQ(error_of(R"({"continuation_token_ids":[1]})", PromptForm::kScore),
            "invalid_request: prompt_token_ids is missing");
}

TEST(ReadInput, RefusesAFileThatIsNotThere) {
  try {
    read_input("no/such/file.jsonl");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInput);
    EXPECT_STREQ(e.what(), "cannot open the input no/such/file.jsonl: No such file or directory");
  }
}

TEST(ReadInput, RefusesAFolder) {
  const test::TempFolder folder;
  EXPECT_THROW(read_input(folder.path()), Error);
}

TEST(ReadInput, ReadsTheWholeFile) {
  const test::TempFolder folder;
  const std::string text(3'000'000, 'x');
  test::write_file(folder.file("in"), text);
  EXPECT_EQ(read_input(folder.file("in")), text);
}

}  // namespace
}  // namespace octet
