// What must not change a token: the number of ranks (in exact), the batch, the chunk, and running again.
#include <gtest/gtest.h>

#include "tests/golden/generate_run.h"
#include "tests/golden/golden_run.h"

namespace octet::test {
namespace {

using Tokens = std::map<std::string, std::vector<int64_t>>;

/// Greedy and seeded continuations of the golden prompts, of unequal lengths so that prefill and decode mix.
Tokens tokens_of(const GenerateCase& c) {
  const Tensors golden(data_path("golden/tiny.exact.safetensors"));
  std::vector<Json> lines;
  int64_t n = 0;
  for (const std::string& p : prompts(golden)) {
    if (golden.shape(p + ".prompt")[0] > 130) continue;  // long enough for every kind of layer
    Json ids = Json::array();
    for (const int32_t id : golden.values<int32_t>(p + ".prompt")) ids.push(static_cast<int64_t>(id));
    for (const bool greedy : {true, false}) {
      Json line = Json::object();
      line.set("id", p + (greedy ? ".greedy" : ".seeded"));
      line.set("prompt_token_ids", ids);
      line.set("max_tokens", int64_t{6} + 3 * (n++ % 5));
      line.set("temperature", greedy ? 0.0 : 0.7);
      line.set("seed", int64_t{11});
      line.set("ignore_eos", true);
      lines.push_back(std::move(line));
    }
  }
  Tokens tokens;
  for (const auto& [id, completion] : run_generate(c, lines)) tokens[id] = completion.token_ids;
  return tokens;
}

TEST(SameTokens, ForEveryRankCountInExact) {
  const std::string model = synthetic_model("tiny");
  const Tokens one = tokens_of({model, "exact", 1, "--max-batch 16"});
  for (const int ranks : {2, 4, 8}) EXPECT_EQ(tokens_of({model, "exact", ranks, "--max-batch 16"}), one) << ranks;
}

class SameTokensIn : public testing::TestWithParam<std::string> {};

TEST_P(SameTokensIn, BatchesOf1And16ChunksAndRunsAgain) {
  if (GetParam() == "weight_only" && !long_lane()) GTEST_SKIP() << "long lane only: set OCTET_TEST_LONG=1";
  const std::string model = synthetic_model("tiny"), numerics = GetParam();
  const Tokens first = tokens_of({model, numerics, 2, "--max-batch 16"});
  EXPECT_EQ(tokens_of({model, numerics, 2, "--max-batch 16"}), first) << "run again";
  EXPECT_EQ(tokens_of({model, numerics, 2, "--max-batch 1"}), first) << "batch 1";
  EXPECT_EQ(tokens_of({model, numerics, 2, "--max-batch 7 --prefill-chunk 37"}), first) << "chunk 37";
}

INSTANTIATE_TEST_SUITE_P(AllNumerics, SameTokensIn, testing::Values("exact", "weight_only", "official"),
                         [](const auto& param_info) { return param_info.param; });

}  // namespace
}  // namespace octet::test
