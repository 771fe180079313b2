// What holds for the chat parser on any text: nothing is lost, arguments are JSON, time is linear, and what the encoder
// wrote is read back.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "tests/unit/text/chat_fixtures.h"
#include "tests/unit/text/text_fixtures.h"
#include "text/chat_parser.h"
#include "text/python_json.h"

namespace octet {
namespace {

const std::vector<std::string>& fragments() {
  static const std::vector<std::string> kFragments = {
      "<｜DSML｜tool_calls>",
      "</｜DSML｜tool_calls>",
      "<｜DSML｜toolcalls>",
      "<｜DSML｜invoke",
      "<｜DSML｜invoke name=\"",
      "f\">",
      "g\">\n",
      "</｜DSML｜invoke>",
      "<｜DSML｜parameter name=\"",
      "<｜DSML｜parameter",
      "\" string=\"true\">",
      "\" string=\"false\">",
      "</｜DSML｜parameter>",
      "<think>",
      "</think>",
      "<｜end▁of▁sentence｜>",
      "\n\n",
      "\n",
      " ",
      "\">",
      "\"",
      ">",
      "<",
      "｜DSML｜",
      "<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"false\">"};
  return kFragments;
}

TEST(ChatParserProperty, NoWordIsLostAndArgumentsAreJson) {
  test::Random random(31);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    std::vector<std::string> words;
    for (int64_t left = random.integer(0, 25); left > 0; --left) {
      if (random.integer(0, 2) == 0) {
        words.push_back("#" + std::to_string(words.size()) + "#");
        text += words.back();
      } else {
        text += fragments()[static_cast<size_t>(random.integer(0, static_cast<int64_t>(fragments().size()) - 1))];
      }
    }
    const ChatMode mode = random.integer(0, 1) == 0 ? ChatMode::kChat : ChatMode::kThinking;
    const std::vector<std::string> tools =
        random.integer(0, 1) == 0 ? std::vector<std::string>{} : std::vector<std::string>{"f"};
    const ParsedMessage message = parse_completion(text, random.integer(0, 1) == 0, mode, tools, "r");
    std::string all = message.content + message.reasoning_content + message.trailing_text + message.unparsed_text;
    for (const ToolCall& call : message.tool_calls) {
      all += call.name + call.arguments;
      ASSERT_TRUE(is_strict_json(call.arguments)) << call.arguments << "\nof " << text;
      ASSERT_TRUE(tools.empty() || call.name == "f") << text;
    }
    for (const std::string& word : words) {
      ASSERT_NE(all.find(word), all.npos) << word << " of:\n" << text << "\nis not in:\n" << all;
    }
    ASSERT_FALSE(message.status.empty());
  }
}

TEST(ChatParserProperty, WhatTheEncoderWroteIsReadBack) {
  test::Random random(32);
  for (int round = 0; round < 500; ++round) {
    // Text without control strings, as the strict parser wants it.
    const auto text = [&random] {
      std::string all;
      for (int64_t left = random.integer(0, 8); left > 0; --left)
        all += std::string("a\n\"\\ <é/>")[static_cast<size_t>(random.integer(0, 9))];
      return replace_invalid_utf8(all);
    };
    const std::string content = text(), reasoning = text();
    Json arguments = Json::object({{"a" + text(), Json(text())}, {"b", Json::array({Json(1), Json(text())})}});
    Json message =
        Json::object({{"role", Json("assistant")}, {"content", Json(content)}, {"reasoning", Json(reasoning)}});
    message.set(
        "tool_calls",
        Json::array({Json::object({{"function", Json::object({{"name", Json("f")}, {"arguments", arguments}})}})}));
    ChatRequest request;
    request.mode = ChatMode::kThinking;
    request.messages = Json::array({Json::object({{"role", Json("user")}, {"content", Json("q")}}), message});
    const std::string prompt = encode_chat(request, ChatEncoding::kV4).text();
    const std::string completion = prompt.substr(prompt.find("<think>") + 7);
    const ParsedMessage parsed = parse_completion(completion, true, ChatMode::kThinking, {"f"}, "r");
    ASSERT_EQ(parsed.status, "strict") << completion;
    ASSERT_EQ(parsed.content, content);
    ASSERT_EQ(parsed.reasoning_content, reasoning);
    ASSERT_EQ(parsed.tool_calls.at(0).arguments, python_json(arguments));
  }
}

double seconds_to_parse(const std::string& text) {
  const std::clock_t start = std::clock();
  for (const ChatMode mode : {ChatMode::kChat, ChatMode::kThinking}) {
    for (const bool ended : {true, false}) parse_completion(text, ended, mode, {"g"}, "r");
  }
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

struct Hostile {
  const char* name;
  const char* front;
  const char* unit;
};

class HostileCompletion : public testing::TestWithParam<Hostile> {};

TEST_P(HostileCompletion, TakesTimeLinearInItsLength) {
  const auto text = [](size_t bytes) {
    std::string all = GetParam().front;
    while (all.size() < bytes) all += GetParam().unit;
    return all;
  };
  // Sixteen times the text may take up to sixty-four times as long; quadratic time would take 256 times as long.
  const double small = std::max(seconds_to_parse(text(1 << 17)), 0.002);
  EXPECT_LT(seconds_to_parse(text(1 << 21)), 64 * small);
}

constexpr const char* kBlock = "\n\n<｜DSML｜tool_calls>\n";
INSTANTIATE_TEST_SUITE_P(
    ChatParser, HostileCompletion,
    testing::Values(
        Hostile{"Letters", "", "a"}, Hostile{"Openers", "", "\n\n<｜DSML｜tool_calls>"},
        Hostile{"Invokes", kBlock, "<｜DSML｜invoke"}, Hostile{"Names", kBlock, "<｜DSML｜invoke name=\""},
        Hostile{"Calls", kBlock, "<｜DSML｜invoke name=\"f\">\n</｜DSML｜invoke>\n"},
        Hostile{"KnownCalls", kBlock, "<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n"},
        Hostile{"Parameters", "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"g\">\n",
                "<｜DSML｜parameter name=\"k\" string=\"false\">x</｜DSML｜parameter>\n"},
        Hostile{"OpenParameters", "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"g\">\n",
                "<｜DSML｜parameter name=\"k\">"},
        Hostile{"Quotes", "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"", "\" "},
        Hostile{
            "Brackets",
            "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"g\">\n<｜DSML｜parameter name=\"k\" string=\"false\">",
            "["},
        Hostile{"Closers", "", "</｜DSML｜invoke>"}, Hostile{"Thoughts", "", "</think><think>"},
        Hostile{"Newlines", "", "\n"}, Hostile{"Bars", "", "<｜DSML｜"},
        Hostile{"Attributes", "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"g\">\n<｜DSML｜parameter name=\"k",
                "\" string=\""}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

}  // namespace
}  // namespace octet
