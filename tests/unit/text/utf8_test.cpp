// UTF-8 validity and replacement: the cases where implementations differ, by hand.
#include "text/utf8.h"

#include <gtest/gtest.h>

#include "tests/unit/text/text_fixtures.h"

namespace octet {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8("\0\x7F"sv));
  EXPECT_TRUE(is_valid_utf8("\xC2\x80\xDF\xBF"));
  EXPECT_TRUE(is_valid_utf8("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"));
  EXPECT_TRUE(is_valid_utf8("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
}

TEST(Utf8, RefusesOverlongSurrogateTooLargeAndUnfinished) {
  for (const char* text :
       {"\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\x80", "a\xC3", "\xE4\xBD", "\xF0\x9F\x91"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << testing::PrintToString(text);
  }
}

TEST(Utf8, ReplacesEachMaximalSubpartOnce) {
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x91"), kBad);
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F"), kBad);
  EXPECT_EQ(replace_invalid_utf8("\x80\x80"), kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xE0\x80\x80"), kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("\xFF\xFE"), kBad + kBad);
  EXPECT_EQ(replace_invalid_utf8("A\xF0\x9F"
                                 "B"),
            "A" + kBad + "B");
  EXPECT_EQ(replace_invalid_utf8("\xE4\xBD\xE4\xBD\xA0"), kBad + "你");
  EXPECT_EQ(replace_invalid_utf8("\xC3("), kBad + "(");
}

TEST(Utf8, ReplacementOfRandomBytesIsValidAndKeepsValidText) {
  test::Random random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (int64_t left = random.integer(0, 12); left > 0; --left) bytes.push_back(static_cast<char>(random.bits()));
    const std::string text = replace_invalid_utf8(bytes);
    ASSERT_TRUE(is_valid_utf8(text));
    ASSERT_EQ(is_valid_utf8(bytes), text == bytes);
  }
}

}  // namespace
}  // namespace octet
