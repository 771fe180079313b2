// The pre-tokenizer: its character classes, and pieces of texts where the rules meet.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/text/text_fixtures.h"
#include "text/unicode_tables.h"

namespace octet {
namespace {

using Pieces = std::vector<std::string_view>;

Pieces pieces_of(std::string_view text) {
  static const PreTokenizer kPreTokenizer;
  Pieces pieces;
  kPreTokenizer.split(text, pieces);
  return pieces;
}

TEST(CharClasses, CountsAreThoseOfUnicode16) {
  std::map<uint8_t, uint32_t> counts;
  const auto runs = char_class_runs();
  for (size_t r = 0; r < runs.size(); ++r) {
    const uint32_t end = r + 1 < runs.size() ? runs[r + 1] >> 8 : 0x110000;
    for (uint8_t flag = 1; flag <= char_class::kWhiteSpace; flag = static_cast<uint8_t>(flag << 1)) {
      if ((runs[r] & flag) != 0) counts[flag] += end - (runs[r] >> 8);
    }
  }
  EXPECT_EQ(counts[char_class::kLetter], 141028U);
  EXPECT_EQ(counts[char_class::kMark], 2501U);
  EXPECT_EQ(counts[char_class::kNumber], 1911U);
  EXPECT_EQ(counts[char_class::kPunctuation], 855U);
  EXPECT_EQ(counts[char_class::kSymbol], 8514U);
  EXPECT_EQ(counts[char_class::kWhiteSpace], 25U);
}

TEST(PreTokenizer, CutsNumbersInThrees) {
  EXPECT_EQ(pieces_of("12345678 90"), (Pieces{"123", "456", "78", " ", "90"}));
  EXPECT_EQ(pieces_of("½²①Ⅻ"), (Pieces{"½²①", "Ⅻ"}));
  EXPECT_EQ(pieces_of("१२३४५"), (Pieces{"१२३", "४५"}));
}

TEST(PreTokenizer, ANumberEndsTheTextForTheRulesOfWhiteSpace) {
  EXPECT_EQ(pieces_of("a  123"), (Pieces{"a", "  ", "123"}));
  EXPECT_EQ(pieces_of("a  b"), (Pieces{"a", " ", " b"}));
}

TEST(PreTokenizer, CutsHanAndKanaFromOtherLetters) {
  EXPECT_EQ(pieces_of("abc你好"), (Pieces{"abc", "你好"}));
  EXPECT_EQ(pieces_of("  中文"), (Pieces{"  ", "中文"}));
  EXPECT_EQ(pieces_of("龥龦"), (Pieces{"龥", "龦"}));
  EXPECT_EQ(pieces_of("abc㐀"), (Pieces{"abc㐀"}));
  EXPECT_EQ(pieces_of("テスト・ケース"), (Pieces{"テスト", "・", "ケース"}));
}

TEST(PreTokenizer, PunctuationTakesAsciiLettersOnly) {
  EXPECT_EQ(pieces_of("foo.barré"), (Pieces{"foo", ".barr", "é"}));
  EXPECT_EQ(pieces_of("'été"), (Pieces{"'", "été"}));
  EXPECT_EQ(pieces_of("don't"), (Pieces{"don", "'t"}));
}

TEST(PreTokenizer, AWordTakesOneCharacterBeforeIt) {
  EXPECT_EQ(pieces_of("\t\tif"), (Pieces{"\t", "\tif"}));
  EXPECT_EQ(pieces_of("\u00a0\u00a0a"), (Pieces{"\u00a0", "\u00a0a"}));
  EXPECT_EQ(pieces_of("a\u200bb"), (Pieces{"a", "\u200bb"}));
  EXPECT_EQ(pieces_of("\u0301abc"), (Pieces{"\u0301abc"}));
  EXPECT_EQ(pieces_of("\nabc"), (Pieces{"\n", "abc"}));
}

TEST(PreTokenizer, WhiteSpaceEndsAtItsLastLineBreak) {
  EXPECT_EQ(pieces_of("  \n  x"), (Pieces{"  \n", " ", " x"}));
  EXPECT_EQ(pieces_of("...\n\nNext"), (Pieces{"...\n\n", "Next"}));
  EXPECT_EQ(pieces_of("x  "), (Pieces{"x", "  "}));
  EXPECT_EQ(pieces_of("\t!"), (Pieces{"\t", "!"}));
}

TEST(PreTokenizer, CharactersThatMatchNothingFormOnePiece) {
  EXPECT_EQ(pieces_of("\x01\x02\x03!"), (Pieces{"\x01\x02\x03", "!"}));
  EXPECT_EQ(pieces_of("\x01\x02"
                      "b"),
            (Pieces{"\x01",
                    "\x02"
                    "b"}));
}

TEST(PreTokenizer, PiecesOfAnyTextConcatenateToIt) {
  test::Random random(2);
  for (int round = 0; round < 5000; ++round) {
    const std::string text = test::random_text(random);
    std::string joined;
    for (const std::string_view piece : pieces_of(text)) {
      ASSERT_FALSE(piece.empty());
      joined += piece;
    }
    ASSERT_EQ(joined, text);
  }
}

TEST(PreTokenizer, CutsTheRecordedVectorsAsTheReferenceDoes) {
  for (const Json& vector : test::read_json_lines(test::kDataDir + "/text/tok_vectors.jsonl")) {
    const std::string& text = vector.find("text")->text;
    const std::vector<int32_t> ids = test::ids_of(*vector.find("ids"));
    const bool has_added = std::any_of(ids.begin(), ids.end(), [](int32_t id) { return id < 3 || id >= 128000; });
    if (has_added) continue;  // added tokens are cut out before the pre-tokenizer sees the text
    Pieces expected;
    for (const Json& piece : vector.find("pieces")->items) expected.push_back(piece.text);
    EXPECT_EQ(pieces_of(text), expected) << text;
  }
}

}  // namespace
}  // namespace octet
