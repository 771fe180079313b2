// The tokenizer of DeepSeek-V4-Flash itself: recorded vectors and worst cases. Skipped where its file is not at hand.
#include <gtest/gtest.h>

#include <ctime>
#include <ostream>

#include "tests/unit/text/text_fixtures.h"
#include "text/tokenizer.h"

namespace octet {
namespace {

using test::real_tokenizer;

TEST(RealTokenizer, HasTheVocabularyOfTheModel) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  EXPECT_EQ(real_tokenizer()->vocab_size(), 129280);
  EXPECT_EQ(real_tokenizer()->added_token_id("<｜User｜>"), 128803);
  EXPECT_EQ(real_tokenizer()->added_token_id("<｜end▁of▁sentence｜>"), 1);
}

TEST(RealTokenizer, EncodesTheRecordedVectors) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  for (const Json& vector : test::read_json_lines(test::kDataDir + "/text/tok_vectors.jsonl")) {
    const std::string& text = vector.find("text")->text;
    EXPECT_EQ(real_tokenizer()->encode(text), test::ids_of(*vector.find("ids"))) << text;
  }
}

TEST(RealTokenizer, DecodesTheRecordedVectors) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  for (const Json& vector : test::read_json_lines(test::kDataDir + "/text/decode_vectors.jsonl")) {
    const bool skip_special = vector.find("skip_special_tokens")->boolean;
    EXPECT_EQ(real_tokenizer()->decode(test::ids_of(*vector.find("ids")), skip_special), vector.find("text")->text);
  }
}

TEST(RealTokenizer, DecodingWhatItEncodedGivesTheTextBack) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  test::Random random(6);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = test::random_text(random);
    ASSERT_EQ(real_tokenizer()->decode(real_tokenizer()->encode(text), /*skip_special=*/false), text);
  }
}

TEST(RealTokenizer, EveryTokenThatIsTextEncodesToItself) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  for (int32_t id = 0; id < real_tokenizer()->vocab_size(); ++id) {
    const std::string_view text = real_tokenizer()->token_bytes(id, /*skip_special=*/false);
    if (!is_valid_utf8(text)) continue;
    ASSERT_EQ(real_tokenizer()->encode(text), std::vector<int32_t>{id});
  }
}

/// CPU time, so that a busy machine does not matter.
double seconds_to_encode(const std::string& text) {
  const std::clock_t start = std::clock();
  real_tokenizer()->encode(text);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// A megabyte of English, an eighth of a second in an optimised build: a yardstick for any build and machine.
double seconds_for_ordinary_text() {
  const auto vectors = test::read_json_lines(test::kDataDir + "/text/tiny_words_vectors.jsonl");
  std::string text;
  while (text.size() < 1000000) text += vectors.back().find("prompt")->text;
  return seconds_to_encode(text);
}

/// About a megabyte of one thing over and over.
struct Repeated {
  const char* unit;
  size_t times;
  size_t tokens;  ///< as counted with the reference implementation
};

/// What a failing test prints of its parameter.
void PrintTo(const Repeated& repeated, std::ostream* out) {
  *out << repeated.times << " times " << repeated.unit;
}

class WorstCase : public testing::TestWithParam<Repeated> {};

TEST_P(WorstCase, TakesFewTimesAsLongAsOrdinaryText) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  std::string text;
  for (size_t i = 0; i < GetParam().times; ++i) text += GetParam().unit;
  EXPECT_EQ(real_tokenizer()->encode(text).size(), GetParam().tokens);
  EXPECT_LT(seconds_to_encode(text), 8 * seconds_for_ordinary_text());
}

INSTANTIATE_TEST_SUITE_P(RealTokenizer, WorstCase,
                         testing::Values(Repeated{"a", 1000000, 125000}, Repeated{" ", 1000000, 7813},
                                         Repeated{"\n", 1000000, 62500}, Repeated{"7", 1000000, 333334},
                                         Repeated{"中", 333333, 333333}, Repeated{"=-", 500000, 250000},
                                         Repeated{"<", 1000000, 500000},
                                         Repeated{"<｜place▁holder▁no▁", 40000, 440000}));

}  // namespace
}  // namespace octet
