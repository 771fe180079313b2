// Shared prefixes through the real program: the tokens of a cold run, on one rank and several, and honest counts.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/golden/generate_run.h"

namespace octet::test {
namespace {

std::vector<Json> json_lines(const std::string& name) {
  std::vector<Json> lines;
  std::istringstream in(read_file(data_path(name)));
  for (std::string text; std::getline(in, text);) lines.push_back(parse_json(text, name));
  return lines;
}

/// Questions behind solved examples; every third question has other examples than the rest.
std::vector<Json> few_shot_lines(int64_t count, double temperature) {
  const std::vector<Json> examples = json_lines("wordmaths/fewshot.jsonl"),
                          questions = json_lines("wordmaths/test.jsonl");
  const auto shot = [](const Json& item) {
    return "Question: " + item.find("question")->text + "\nAnswer: " + item.find("answer")->text + "\n\n";
  };
  std::vector<Json> lines;
  for (int64_t i = 0; i < count; ++i) {
    std::string prompt;
    for (size_t k = 0; k < 2; ++k) prompt += shot(examples[(i % 3 == 0 ? 4 : 0) + k]);
    prompt += "Question: " + questions[static_cast<size_t>(i)].find("question")->text + "\nAnswer:";
    lines.push_back(Json::object({{"id", std::to_string(i)},
                                  {"prompt", prompt},
                                  {"stop", "\n\n"},
                                  {"max_tokens", 60},
                                  {"temperature", temperature}}));
  }
  return lines;
}

class Sharing : public testing::TestWithParam<int> {};

TEST_P(Sharing, ChangesNoTokenAndIsCounted) {
  const std::vector<Json> lines = few_shot_lines(7, 1.0);
  const std::string flags = "--prefill-chunk 100 --max-batch 3";
  const GenerateCase shared{data_path("tiny-words"), "official", GetParam(), flags};
  const GenerateCase cold{shared.model, "official", GetParam(), flags + " --no-prefix-sharing"};
  const auto a = run_generate(shared, lines), b = run_generate(cold, lines);
  std::vector<int64_t> first_of_group;
  for (const auto& [id, completion] : a) {
    EXPECT_EQ(completion.token_ids, b.at(id).token_ids) << id;
    EXPECT_EQ(completion.text, b.at(id).text) << id;
    EXPECT_EQ(b.at(id).cached_tokens, 0) << id;
    EXPECT_LT(completion.cached_tokens, completion.prompt_tokens) << id;
    if (completion.cached_tokens == 0) first_of_group.push_back(std::stoll(id));
  }
  EXPECT_EQ(first_of_group, (std::vector<int64_t>{0, 1}));  // of each set of examples
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sharing, testing::Values(1, 4), testing::PrintToStringParamName());

TEST(Samples, ShareTheirPromptAndAreThoseOfSingleLines) {
  std::vector<Json> lines = few_shot_lines(2, 1.0), single;
  for (Json& line : lines) {
    line.set("n", 3);
    line.set("seed", 11);
  }
  for (int64_t j = 0; j < 3; ++j) {
    for (Json line : few_shot_lines(2, 1.0)) {
      line.members[0].second = line.members[0].second.text + "-" + std::to_string(j);
      line.set("seed", 11 + j);
      single.push_back(std::move(line));
    }
  }
  const GenerateCase c{data_path("tiny-words"), "official", 2, ""};
  const std::vector<Json> rows = generated_rows(c, lines);
  const auto alone = run_generate({c.model, c.numerics, 2, "--no-prefix-sharing"}, single);
  for (const Json& row : rows) {
    const std::vector<Json>& choices = row.find("choices")->items;
    ASSERT_EQ(choices.size(), 3u);
    for (size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(token_list(*choices[j].find("token_ids")),
                alone.at(row.find("id")->text + "-" + std::to_string(j)).token_ids);
    }
  }
}

}  // namespace
}  // namespace octet::test
