// JSON: what is kept (number text, order), what is refused, and that no text can crash the parser.
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/expect_error.h"

namespace octet {
namespace {

Json parse(std::string_view text) {
  return parse_json(text, "line 12");
}

void expect_refused(std::string_view text, std::initializer_list<std::string_view> parts) {
  test::expect_error(Code::kInput, parts, [&] { parse(text); });
}

TEST(ParseJson, KeepsTheTextOfNumbers) {
  const std::string text = R"([1,-0,0,-7,2.50,1E5,1e-7,123456789012345678901234567890,18446744073709551615])";
  EXPECT_EQ(parse(text).dump(), text);
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  const std::string text = R"({"z":1,"a":{"m":[],"b":{}},"k":[null,true,false,"s"]})";
  EXPECT_EQ(parse(text).dump(), text);
}

TEST(ParseJson, DecodesEscapes) {
  EXPECT_EQ(parse(R"("\u00e9\ud83d\ude00\/\n\u0000")").text, std::string("é😀/\n\0", 9));
}

TEST(ParseJson, FindsMembers) {
  const Json object = parse(R"({"a":1,"b":null})");
  EXPECT_EQ(object.find("a")->as_int(), 1);
  EXPECT_TRUE(object.find("b")->is(Json::Kind::kNull));
  EXPECT_EQ(object.find("c"), nullptr);
  EXPECT_EQ(Json(3).find("a"), nullptr);
}

TEST(ParseJson, NamesTheTextAndTheByte) {
  expect_refused(R"({"a":1,})", {"line 12", "byte 8"});
  expect_refused("", {"line 12", "unexpected end of input"});
  expect_refused("[1] x", {"byte 5"});
}

TEST(ParseJson, RefusesARepeatedKey) {
  expect_refused(R"({"a":1,"b":2,"a":3})", {"\"a\" twice", "byte 19"});
  expect_refused(R"([{"x":{"k":1,"\u006b":2}}])", {"\"k\" twice"});
}

TEST(ParseJson, RefusesIllFormedUtf8) {
  expect_refused("\"\xff\"", {"ill-formed UTF-8"});
  expect_refused("\"\xc3\"", {"ill-formed UTF-8"});
  expect_refused("\"\xed\xa0\x80\"", {"ill-formed UTF-8"});
  expect_refused(R"("\ud800")", {"surrogate"});
}

TEST(ParseJson, RefusesControlCharactersInStrings) {
  expect_refused("\"a\nb\"", {"control character"});
}

TEST(ParseJson, RefusesNumbersJsonDoesNotHave) {
  for (const char* text : {"01", "+1", "1.", ".5", "NaN", "Infinity", "0x10", "1e400"}) expect_refused(text, {});
}

TEST(ParseJson, RefusesDeepNestingWithoutOverflowingTheStack) {
  expect_refused(std::string(10'000'000, '['), {"nested more than 256 deep"});
  std::string hostile;
  for (int i = 0; i < 100'000; ++i) hostile += R"({"a":)";
  expect_refused(hostile, {"nested more than 256 deep"});
  EXPECT_NO_THROW(parse(std::string(256, '[') + std::string(256, ']')));
}

TEST(ParseJson, QuotesLittleOfAHostileText) {
  try {
    parse("[" + std::string(1'000'000, 'x'));
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 400u);
  }
}

TEST(JsonNumber, IsAnIntegerWhateverItsSpelling) {
  for (const char* text : {"300", "300.0", "3e2", "3E+2", "30000e-2", "0.3e3"}) EXPECT_EQ(parse(text).as_int(), 300);
  EXPECT_EQ(parse("-0").as_int(), 0);
  EXPECT_EQ(parse("0e99999999999999999999").as_int(), 0);
}

TEST(JsonNumber, IsNoIntegerWhenItHasAFraction) {
  for (const char* text : {"0.5", "35e-1", "1e-99999999999999999999"}) EXPECT_EQ(parse(text).as_int(), std::nullopt);
}

TEST(JsonNumber, RespectsTheLimitsOfItsType) {
  EXPECT_EQ(parse("9223372036854775807").as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse("9223372036854775808").as_int(), std::nullopt);
  EXPECT_EQ(parse("-9223372036854775808").as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse("-9223372036854775809").as_int(), std::nullopt);
  EXPECT_EQ(parse("18446744073709551615").as_uint(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parse("18446744073709551616").as_uint(), std::nullopt);
  EXPECT_EQ(parse("1e300").as_uint(), std::nullopt);
  EXPECT_EQ(parse("-1").as_uint(), std::nullopt);
}

TEST(JsonNumber, OtherKindsAreNoNumbers) {
  for (const char* text : {"\"3\"", "null", "true", "[3]"}) {
    EXPECT_EQ(parse(text).as_int(), std::nullopt);
    EXPECT_EQ(parse(text).as_double(), std::nullopt);
  }
}

TEST(JsonNumber, ReadsDoubles) {
  EXPECT_EQ(parse("1e-06").as_double(), 1e-6);
  EXPECT_EQ(parse("1e-400").as_double(), 0.0);
  EXPECT_EQ(parse("-2.5").as_double(), -2.5);
}

TEST(JsonDump, WritesTheShortestDoubleThatReadsBack) {
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(1.0 / 3).dump(), "0.3333333333333333");
  EXPECT_EQ(Json(-1e-300).dump(), "-1e-300");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(HUGE_VAL).dump(), "null");
}

TEST(JsonDump, EscapesOnlyWhatJsonDemands) {
  EXPECT_EQ(Json("é/<>\x7f\"\\\b\f\n\r\t\x01").dump(), "\"é/<>\x7f\\\"\\\\\\b\\f\\n\\r\\t\\u0001\"");
}

TEST(JsonDump, ReplacesIllFormedUtf8) {
  EXPECT_EQ(Json("a\xe4\xb8!\xff").dump(), "\"a\uFFFD!\uFFFD\"");
}

TEST(JsonDump, WritesEmptyContainers) {
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
}

TEST(JsonDump, RoundTripsRandomTrees) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto word = [&] { return std::string(random() % 5, static_cast<char>('a' + random() % 26)) + "\"\\\n\u00e9"; };
  for (int round = 0; round < 500; ++round) {
    Json tree = Json::array();
    for (auto i = random() % 20; i > 0; --i) {
      Json object = Json::object();
      object.set("k" + word(), static_cast<int64_t>(random()) - 1'000'000'000);
      object.set("v" + word(), std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100));
      object.set("w" + word(), word());
      tree.push(std::move(object));
    }
    ASSERT_EQ(parse(tree.dump()).dump(), tree.dump());
  }
}

TEST(ParseJson, SurvivesRandomDamage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string good = R"({"id":"a\u00e9","n":[1,-2.5e3,true,null],"o":{"k":{}}})";
  for (int round = 0; round < 50'000; ++round) {
    std::string bad = good;
    for (auto edits = random() % 4 + 1; edits > 0 && !bad.empty(); --edits) {
      const size_t at = random() % bad.size();
      if (random() % 3 == 0)
        bad.erase(at, random() % 6);
      else
        bad[at] = static_cast<char>(random());
    }
    try {
      const std::string text = parse(bad).dump();
      ASSERT_EQ(parse(text).dump(), text) << bad;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kInput) << bad;
    }
  }
}

}  // namespace
}  // namespace octet
