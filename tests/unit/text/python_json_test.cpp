// JSON as Python reads and writes it; expectations were taken from Python 3.
#include "text/python_json.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace octet {
namespace {

/// json.dumps(json.loads(text), ensure_ascii=False), or "error".
std::string round_trip(std::string_view text) {
  const std::optional<Json> value = read_python_json(text);
  return value ? python_json(*value) : "error";
}

TEST(PythonJson, PutsBlanksBehindSeparatorsOnly) {
  EXPECT_EQ(round_trip(R"( { "a":[1 ,2,{}],"b":{"c":[],"d":null}, "e":[true,false]} )"),
            R"({"a": [1, 2, {}], "b": {"c": [], "d": null}, "e": [true, false]})");
}

TEST(PythonJson, WritesFloatsLikeRepr) {
  const std::pair<const char*, const char*> kCases[] = {{"1e3", "1000.0"},
                                                        {"1E5", "100000.0"},
                                                        {"1e15", "1000000000000000.0"},
                                                        {"1e16", "1e+16"},
                                                        {"1e-4", "0.0001"},
                                                        {"1e-5", "1e-05"},
                                                        {"0.00001234", "1.234e-05"},
                                                        {"1.50", "1.5"},
                                                        {"-0.0", "-0.0"},
                                                        {"0e0", "0.0"},
                                                        {"5e-324", "5e-324"},
                                                        {"1e-400", "0.0"},
                                                        {"1e400", "Infinity"},
                                                        {"-1e400", "-Infinity"},
                                                        {"9007199254740993.0", "9007199254740992.0"},
                                                        {"0.1", "0.1"},
                                                        {"2.5e+20", "2.5e+20"},
                                                        {"1234.5678", "1234.5678"}};
  for (const auto& [text, expected] : kCases) {
    EXPECT_EQ(round_trip(text), expected) << text;
  }
}

TEST(PythonJson, KeepsIntegersOfAnySize) {
  EXPECT_EQ(round_trip("123456789012345678"), "123456789012345678");
  EXPECT_EQ(round_trip("-123456789012345678901234567890123456789"), "-123456789012345678901234567890123456789");
  EXPECT_EQ(round_trip("-0"), "0");
}

TEST(PythonJson, KnowsNaNAndInfinity) {
  EXPECT_EQ(round_trip("[NaN, Infinity,-Infinity]"), "[NaN, Infinity, -Infinity]");
  EXPECT_EQ(round_trip("-NaN"), "error");
  EXPECT_EQ(round_trip("nan"), "error");
}

TEST(PythonJson, ARepeatedKeyKeepsItsFirstPlaceAndLastValue) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":{"x":0},"c":3,"b":4,"a":5})"), R"({"a": 5, "b": 4, "c": 3})");
}

TEST(PythonJson, EscapesWhatPythonEscapes) {
  EXPECT_EQ(round_trip(R"("\"\\\/\b\f\n\r\t\u0001\u001F\u007f\u2028é\ud83d\ude00")"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\u2028é😀\"");
}

TEST(PythonJson, ALoneSurrogateBecomesTheReplacementCharacter) {
  EXPECT_EQ(round_trip(R"("\ud800")"), "\"\ufffd\"");
  EXPECT_EQ(round_trip(R"("\udc00x")"), "\"\ufffdx\"");
  EXPECT_EQ(round_trip(R"("\ud83d\ud83d\ude00")"), "\"\ufffd😀\"");
  EXPECT_EQ(round_trip(R"("\ud83d\u0041")"), "\"\ufffdA\"");
}

TEST(PythonJson, RefusesWhatPythonRefuses) {
  for (const char* text : {"",
                           " ",
                           "nul",
                           "01",
                           "1.",
                           ".5",
                           "1e",
                           "+1",
                           "-",
                           "[1,]",
                           "[1 2]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\" 1}",
                           "\"a",
                           "\"a\nb\"",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\u12",
                           "1 2",
                           "[",
                           "{",
                           "{\"a\":",
                           "\xEF\xBB\xBF"
                           "1",
                           "'a'",
                           "\"\\"}) {
    EXPECT_EQ(round_trip(text), "error") << text;
  }
}

TEST(PythonJson, NestingIsBounded) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(round_trip(nested(256)), nested(256));
  test::expect_error(Code::kInput, {"nested more than 256 deep"}, [&] { read_python_json(nested(257)); });
  test::expect_error(Code::kInput, {"nested"}, [&] { read_python_json(std::string(1000000, '[')); });
  EXPECT_TRUE(is_strict_json(nested(256)));
  EXPECT_FALSE(is_strict_json(nested(257)));
}

TEST(PythonJson, StrictJsonHasNoNaN) {
  EXPECT_TRUE(is_strict_json(R"({"a": [1e400, -0.5, "x"], "a": null})"));
  EXPECT_FALSE(is_strict_json("[NaN]"));
  EXPECT_FALSE(is_strict_json("-Infinity"));
  EXPECT_FALSE(is_strict_json("oops"));
}

TEST(PythonJson, ManyEqualKeysTakeNoTime) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += "\"k" + std::to_string(i % 50000) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const std::optional<Json> value = read_python_json(text);
  ASSERT_TRUE(value);
  ASSERT_EQ(value->members.size(), 50000u);
  EXPECT_EQ(value->members.front().second.text, "50000");
}

}  // namespace
}  // namespace octet
