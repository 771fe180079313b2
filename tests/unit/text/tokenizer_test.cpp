// The tokenizer of the tiny model: known ids, both directions, and its behaviour at the borders.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "tests/unit/text/text_fixtures.h"

namespace octet {
namespace {

using Ids = std::vector<int32_t>;

const Tokenizer& tiny() {
  static const Tokenizer kTokenizer = Tokenizer::from_dir(test::kTinyDir);
  return kTokenizer;
}

Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no Error was thrown";
  return Code::kInternal;
}

TEST(Tokenizer, EncodesRecordedPromptsToTheirIds) {
  for (const Json& vector : test::read_json_lines(test::kDataDir + "/text/tiny_words_vectors.jsonl")) {
    EXPECT_EQ(tiny().encode(vector.find("prompt")->text), test::ids_of(*vector.find("prompt_ids")));
  }
}

TEST(Tokenizer, DecodesRecordedCompletionsToTheirText) {
  for (const Json& vector : test::read_json_lines(test::kDataDir + "/text/tiny_words_vectors.jsonl")) {
    EXPECT_EQ(tiny().decode(test::ids_of(*vector.find("completion_ids"))), vector.find("text")->text);
  }
}

TEST(Tokenizer, AReversedOrderOfMergesGivesOtherIds) {
  Json root = parse_json(test::read_file(test::kTinyDir + "/tokenizer.json"), "tiny");
  for (auto& [key, model] : root.members) {
    for (auto& [name, merges] : model.members) {
      if (name == "merges") std::reverse(merges.items.begin(), merges.items.end());
    }
  }
  const Tokenizer reversed = Tokenizer::from_json(root.dump(), "reversed");
  EXPECT_EQ(tiny().encode("Question: How many"), (Ids{301, 28, 308, 306}));
  EXPECT_NE(reversed.encode("Question: How many"), tiny().encode("Question: How many"));
}

TEST(Tokenizer, DecodingWhatItEncodedGivesTheTextBack) {
  test::Random random(4);
  for (int round = 0; round < 5000; ++round) {
    const std::string text = test::random_text(random);
    ASSERT_EQ(tiny().decode(tiny().encode(text), /*skip_special=*/false), text);
    ASSERT_EQ(tiny().decode(tiny().encode(text, Tokenizer::AddedTokens::kPlainText)), text);
  }
}

TEST(Tokenizer, AddsNothingToTheText) {
  EXPECT_EQ(tiny().encode(""), Ids{});
  EXPECT_EQ(tiny().encode("!"), Ids{3});
}

TEST(Tokenizer, AddedTokensInPlainTextStayText) {
  const std::string text = "a<｜User｜>b</think>";
  EXPECT_EQ(tiny().encode(text), (Ids{67, 1020, 68, 1023}));
  EXPECT_EQ(tiny().count_added_tokens(text), 2);
  for (const int32_t id : tiny().encode(text, Tokenizer::AddedTokens::kPlainText)) EXPECT_LT(id, 1014);
}

TEST(Tokenizer, AnAddedTokenEndsTheTextBeforeIt) {
  // Two spaces before a word are " " and " word", at the end of a text they are one piece.
  EXPECT_EQ(tiny().encode("  <think>"), [] {
    Ids ids = tiny().encode("  ");
    ids.push_back(1022);
    return ids;
  }());
}

TEST(Tokenizer, KnowsTheIdsOfAddedTokens) {
  EXPECT_EQ(tiny().added_token_id("<｜Assistant｜>"), 1021);
  EXPECT_EQ(tiny().added_token_id("<｜Nobody｜>"), std::nullopt);
}

TEST(Tokenizer, SpecialTokensAreSkippedOnRequestOnly) {
  EXPECT_EQ(tiny().decode({0, 67, 1023, 1}), "a</think>");
  EXPECT_EQ(tiny().decode({67, 1}, /*skip_special=*/false), "a<｜end▁of▁sentence｜>");
  EXPECT_EQ(tiny().token_bytes(1, /*skip_special=*/true), "");
  EXPECT_TRUE(tiny().is_special(1));
  EXPECT_FALSE(tiny().is_special(1023));
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  EXPECT_EQ(tiny().vocab_size(), 1024);
  EXPECT_EQ(code_of([] { tiny().decode({1024}); }), Code::kInput);
  EXPECT_EQ(code_of([] { tiny().token_bytes(-1, /*skip_special=*/false); }), Code::kInput);
  EXPECT_EQ(code_of([] { tiny().is_special(1 << 30); }), Code::kInput);
}

TEST(Tokenizer, RefusesTextThatIsNoUtf8) {
  EXPECT_EQ(code_of([] { tiny().encode("a\xFF"); }), Code::kInput);
}

TEST(Tokenizer, AMissingFileIsTheCheckpointsFault) {
  EXPECT_EQ(code_of([] { Tokenizer::from_dir("/nonexistent"); }), Code::kCheckpoint);
}

TEST(Detokenizer, StreamsExactlyWhatDecodeGives) {
  test::Random random(5);
  for (int round = 0; round < 20000; ++round) {
    const bool skip_special = random.integer(0, 1) == 1;
    Ids ids;
    for (int64_t left = random.integer(0, 12); left > 0; --left) {
      const int64_t largest = random.integer(0, 3) > 0 ? 258 : 1023;  // mostly single bytes: broken characters
      ids.push_back(static_cast<int32_t>(random.integer(0, largest)));
    }
    Detokenizer detokenizer(tiny(), skip_special);
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string text = detokenizer.append(id);
      ASSERT_TRUE(is_valid_utf8(text));
      streamed += text;
    }
    ASSERT_EQ(streamed + detokenizer.flush(), tiny().decode(ids, skip_special));
  }
}

TEST(Detokenizer, HoldsBackOnlyWhatMayBecomeACharacter) {
  Detokenizer detokenizer(tiny());
  const Ids bytes = tiny().encode("👍");  // F0 9F 91 8D, no merges for it in this vocabulary
  ASSERT_EQ(bytes.size(), 4U);
  EXPECT_EQ(detokenizer.append(bytes[0]), "");
  EXPECT_EQ(detokenizer.append(bytes[1]), "");
  EXPECT_EQ(detokenizer.append(67),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(detokenizer.append(bytes[1]), "\xEF\xBF\xBD");
  EXPECT_EQ(detokenizer.append(bytes[0]), "");
  EXPECT_EQ(detokenizer.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(Detokenizer, ASkippedTokenDoesNotTearACharacter) {
  Detokenizer detokenizer(tiny());
  const Ids bytes = tiny().encode("👍");
  std::string text;
  for (const int32_t id : {bytes[0], bytes[1], 1, bytes[2], bytes[3]}) text += detokenizer.append(id);
  EXPECT_EQ(text, "👍");
}

}  // namespace
}  // namespace octet
