// The trained tiny-words model through `octet generate`: the reference's own greedy tokens. That its answers are right
// is seen by tests/scripts/run_words.py.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace octet::test
