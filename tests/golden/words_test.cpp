// The trained tiny-words model through `octet generate`: the reference's own greedy tokens, and right answers.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/golden/generate_run.h"
#include "tests/golden/golden_run.h"

namespace octet::test {
namespace {

const std::string kModel = data_path("tiny-words");

class Words : public testing::TestWithParam<GenerateCase> {};

// The smallest gap between the two best logits over all 50 cases is 4.7: no rounding excuses another token.
TEST_P(Words, GreedyTokensEqualTheReferenceInAllFiftyCases) {
  const bool often =
      GetParam().ranks == 1 && GetParam().numerics == "weight_only";  // 8 ranks answer the questions below
  if (!often && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  const Json expected = parse_json(read_file(data_path("wordmaths/expected.json")), "expected.json");
  std::vector<Json> lines;
  for (size_t i = 0; i < expected.items.size(); ++i) {
    Json line = Json::object();
    line.set("id", std::to_string(i));
    line.set("prompt_token_ids", *expected.items[i].find("prompt_ids"));
    line.set("max_tokens", static_cast<int64_t>(expected.items[i].find("completion_ids")->items.size()));
    lines.push_back(std::move(line));
  }
  const auto completions = run_generate(GetParam(), lines);
  ASSERT_EQ(completions.size(), 50u);
  for (size_t i = 0; i < expected.items.size(); ++i) {
    EXPECT_EQ(completions.at(std::to_string(i)).token_ids, token_list(*expected.items[i].find("completion_ids")))
        << "case " << i << ", " << expected.items[i].find("kind")->text;
  }
}

INSTANTIATE_TEST_SUITE_P(TinyWords, Words,
                         testing::Values(GenerateCase{kModel, "official", 1, "--prefill-chunk 512"},
                                         GenerateCase{kModel, "official", 8, "--prefill-chunk 1024"},
                                         GenerateCase{kModel, "weight_only", 1, "--prefill-chunk 1024"},
                                         GenerateCase{kModel, "weight_only", 8, "--prefill-chunk 512"}),
                         [](const auto& param_info) {
                           return param_info.param.numerics + "_np" + std::to_string(param_info.param.ranks);
                         });

/// What follows the last "#### ".
std::string answer(const std::string& text) {
  const size_t mark = text.rfind("#### ");
  if (mark == std::string::npos) return "no answer: " + text;
  return text.substr(mark + 5,
                     text.find('\n', mark) == std::string::npos ? std::string::npos : text.find('\n', mark) - mark - 5);
}

TEST(TinyWords, AnswersAllTwoHundredQuestionsInChatForm) {
  std::istringstream questions(read_file(data_path("wordmaths/test.jsonl")));
  std::vector<Json> lines;
  std::vector<std::string> answers;
  for (std::string text; std::getline(questions, text);) {
    const Json question = parse_json(text, "test.jsonl");
    Json line = Json::object();
    line.set("id", std::to_string(lines.size()));
    line.set("prompt", "<｜User｜>" + question.find("question")->text + "<｜Assistant｜></think>");
    lines.push_back(std::move(line));
    answers.push_back(answer(question.find("answer")->text));
  }
  ASSERT_EQ(lines.size(), 200u);
  const auto completions = run_generate({kModel, "official", 8, "--max-tokens 128"}, lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Completion& completion = completions.at(std::to_string(i));
    EXPECT_EQ(answer(completion.text), answers[i]) << completion.text;
    EXPECT_EQ(completion.finish_reason, "stop");
  }
}

}  // namespace
}  // namespace octet::test
