// The trained tiny-words model through `octet generate`: the reference's own greedy tokens. That its answers are right
// is seen by tests/scripts/run_words.py.
#include <gtest/gtest.h>

#include "tests/golden/generate_run.h"
#include "tests/golden/golden_run.h"

namespace octet::test {
namespace {

const std::string kModel = data_path("tiny-words");

class Words : public testing::TestWithParam<GenerateCase> {};

TEST_P(Words, GreedyTokensEqualTheReferenceInAllFiftyCases) {
  const bool often =
      GetParam().ranks == 1 && GetParam().numerics == "weight_only";  // 8 ranks answer the questions below
  if (!often && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  expect_reference_tokens(GetParam());
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
