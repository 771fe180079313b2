// Stop strings: on text, and token by token in the scheduler.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/rows.h"
#include "engine/scheduler.h"
#include "engine/stop_matcher.h"
#include "tests/support/test_files.h"
#include "text/tokenizer.h"

namespace octet {
namespace {

TEST(StopMatcher, FindsAStringThatCrossesPieces) {
  StopMatcher stops({"hello"});
  EXPECT_FALSE(stops.append("say h"));
  EXPECT_FALSE(stops.append("el"));
  EXPECT_TRUE(stops.append("lo there"));
  EXPECT_EQ(stops.text(), "say ");
}

TEST(StopMatcher, TakesTheEarliestStart) {
  StopMatcher stops({"cd", "bcde"});
  EXPECT_TRUE(stops.append("abcdef"));
  EXPECT_EQ(stops.text(), "a");
}

TEST(StopMatcher, DoesNotFindWhatLaterTextWouldComplete) {
  StopMatcher stops({"aab"});
  EXPECT_FALSE(stops.append("aa"));
  EXPECT_FALSE(stops.append("a"));
  EXPECT_TRUE(stops.append("b"));
  EXPECT_EQ(stops.text(), "a");
}

class StopInScheduler : public ::testing::Test {
 protected:
  /// What becomes of a sequence that draws the tokens of `text` one by one.
  Finished draw(const std::string& text, std::vector<std::string> stop, int64_t max_new_tokens) {
    Scheduler scheduler({{1, 1, 1000}, 100, 1}, &tokenizer_);
    Request request{.index = 0, .tokens = {5}, .prompt_tokens = 1, .prefill_tokens = 1};
    request.max_new_tokens = max_new_tokens;
    request.stop = std::move(stop);
    scheduler.add(std::move(request));
    for (const TokenId token : tokenizer_.encode(text)) {
      std::vector<Finished> finished = scheduler.commit(scheduler.plan(), std::vector<TokenId>{token});
      if (!finished.empty()) return finished.front();
    }
    ADD_FAILURE() << "not finished";
    return {};
  }
  std::string text_of(const Finished& finished) {
    const Json row = completion_row({}, {}, std::vector<Completion>{{finished, {}}}, "", {.tokenizer = &tokenizer_});
    return row.find("text")->text;
  }

  const Tokenizer tokenizer_ = Tokenizer::from_dir(test::data_path("tiny-words"));
};

TEST_F(StopInScheduler, CutsTheTextAndCountsTheTokensUpToTheMatch) {
  const std::string text = "Answer: 12 plums.\n\nQuestion: more";
  const std::vector<TokenId> all = tokenizer_.encode(text);
  const Finished finished = draw(text, {"\nQuest"}, 100);
  EXPECT_EQ(finished.reason, FinishReason::kStop);
  EXPECT_EQ(text_of(finished), "Answer: 12 plums.\n");
  EXPECT_LT(finished.tokens.size(), all.size());
  EXPECT_NE(tokenizer_.decode(finished.tokens).find("\nQuest"), std::string::npos);
  std::vector<TokenId> before = finished.tokens;
  before.pop_back();
  EXPECT_EQ(tokenizer_.decode(before).find("\nQuest"), std::string::npos);
}

TEST_F(StopInScheduler, LeavesTheTextWholeWhenNothingMatches) {
  const std::string text = "Answer: 12 plums.";
  const Finished finished = draw(text, {"roses"}, static_cast<int64_t>(tokenizer_.encode(text).size()));
  EXPECT_EQ(finished.reason, FinishReason::kLength);
  EXPECT_EQ(text_of(finished), text);
}

TEST_F(StopInScheduler, KeepsEosOutOfTheText) {
  const std::string eos(tokenizer_.token_bytes(1, /*skip_special=*/false));
  for (const std::vector<std::string>& stop : {std::vector<std::string>{}, {"roses"}}) {
    const Finished finished = draw("12 plums" + eos, stop, 100);
    EXPECT_EQ(finished.reason, FinishReason::kStop);
    EXPECT_EQ(finished.tokens.back(), 1);
    EXPECT_EQ(text_of(finished), "12 plums");
  }
}

TEST_F(StopInScheduler, WritesAnUnfinishedCharacterAsAReplacement) {
  const std::vector<TokenId> tokens = tokenizer_.encode("a\u20ac");
  for (const std::vector<std::string>& stop : {std::vector<std::string>{}, {"roses"}}) {
    const Finished finished = draw("a\u20ac", stop, static_cast<int64_t>(tokens.size()) - 1);
    EXPECT_EQ(text_of(finished), "a\ufffd");
  }
}

}  // namespace
}  // namespace octet
