// Completions become messages: the strict parser against recorded cases, the lenient one finding by finding.
#include "text/chat_parser.h"

#include <gtest/gtest.h>

#include "tests/unit/text/text_fixtures.h"

namespace octet {
namespace {

const std::string kEosText = "<｜end▁of▁sentence｜>";
/// D("<", "invoke") is the tag "<" DSML "invoke".
std::string D(const std::string& open, const std::string& word) {
  return open + "｜DSML｜" + word;
}
const std::string kOpen = "\n\n" + D("<", "tool_calls>\n"), kClose = D("</", "tool_calls>");
std::string parameter(const std::string& attributes, const std::string& value) {
  return D("<", "parameter") + attributes + ">" + value + D("</", "parameter>\n");
}
std::string invoke(const std::string& name, const std::string& inside = "") {
  return D("<", "invoke") + " name=\"" + name + "\">\n" + inside + D("</", "invoke>\n");
}

ParsedMessage parse(const std::string& text, ChatMode mode = ChatMode::kChat,
                    const std::vector<std::string>& tools = {}) {
  return parse_completion(text, /*ended_by_eos=*/true, mode, tools, "request");
}

/// All calls as name(arguments), separated by blanks.
std::string calls(const ParsedMessage& message) {
  std::string all;
  for (const ToolCall& call : message.tool_calls)
    all += (all.empty() ? "" : " ") + call.name + "(" + call.arguments + ")";
  return all;
}

TEST(StrictParser, DoesWhatIsRecorded) {
  const Json cases = parse_json(test::read_file(test::kDataDir + "/text/parse_examples.json"), "examples");
  ASSERT_EQ(cases.items.size(), 16u);
  for (const Json& example : cases.items) {
    SCOPED_TRACE(example.find("name")->text);
    const bool thinking = example.find("thinking")->boolean;
    const auto message =
        parse_strict(example.find("completion")->text, thinking ? ChatMode::kThinking : ChatMode::kChat);
    ASSERT_EQ(message.has_value(), !example.find("strict_error")->boolean);
    if (!message) continue;
    const Json& expected = *example.find("strict_result");
    EXPECT_EQ(message->content, expected.find("content")->text);
    EXPECT_EQ(message->reasoning_content, expected.find("reasoning_content")->text);
    const std::vector<Json>& tool_calls = expected.find("tool_calls")->items;
    ASSERT_EQ(message->tool_calls.size(), tool_calls.size());
    for (size_t i = 0; i < tool_calls.size(); ++i) {
      EXPECT_EQ(message->tool_calls[i].name, tool_calls[i].find("function")->find("name")->text);
      EXPECT_EQ(message->tool_calls[i].arguments, tool_calls[i].find("function")->find("arguments")->text);
    }
  }
}

TEST(StrictParser, TakesTheOdditiesOfTheReference) {
  EXPECT_TRUE(parse_strict("x\n\n" + D("<", "tool_calls"), ChatMode::kChat));
  EXPECT_TRUE(
      parse_strict(kOpen + D("<", "invoke\u00a0 name=\"f\">\n") + D("</", "invoke>\n") + kClose, ChatMode::kChat));
  EXPECT_FALSE(parse_strict(kOpen + D("<", "invoke name=\"f\"> \n") + D("</", "invoke>\n") + kClose, ChatMode::kChat));
  const auto quoted =
      parse_strict(kOpen + invoke("a\"b\">c", parameter(" name=\"k\" string=\"no\" string=\"true\"", "<\n")) + kClose,
                   ChatMode::kChat);
  ASSERT_TRUE(quoted);
  EXPECT_EQ(calls(*quoted), R"(a"b">c({"k\" string=\"no": "<\n"}))");
}

TEST(StrictParser, RefusesControlTokensInContent) {
  for (const char* token : {"<｜begin▁of▁sentence｜>", "<think>", "</think>", "｜DSML｜"}) {
    EXPECT_FALSE(parse_strict("a" + std::string(token) + kEosText, ChatMode::kChat)) << token;
  }
}

TEST(ChatParser, WellFormedCompletionsAreStrict) {
  EXPECT_EQ(parse("a").status, "strict");
  EXPECT_EQ(parse("a" + kEosText).status, "strict");
  const ParsedMessage message =
      parse("r</think>c" + kOpen + invoke("f", parameter(" name=\"k\" string=\"false\"", "1")) + kClose,
            ChatMode::kThinking, {"f"});
  EXPECT_EQ(message.status, "strict");
  EXPECT_EQ(message.reasoning_content, "r");
  EXPECT_EQ(message.content, "c");
  EXPECT_EQ(calls(message), R"(f({"k": 1}))");
}

TEST(ChatParser, IdsFollowFromRequestAndIndex) {
  const std::string text = kOpen + invoke("f") + invoke("f") + kClose;
  const auto ids = [&](const char* request) {
    const ParsedMessage m = parse_completion(text, true, ChatMode::kChat, {}, request);
    return std::pair(m.tool_calls.at(0).id, m.tool_calls.at(1).id);
  };
  EXPECT_EQ(ids("r1"), ids("r1"));
  EXPECT_NE(ids("r1"), ids("r2"));
  EXPECT_NE(ids("r1").first, ids("r1").second);
  EXPECT_TRUE(ids("r1").first.starts_with("call_"));
  EXPECT_EQ(ids("r1").first.size(), 29u);
}

/// A completion, what is found in it, and what becomes of it.
struct Case {
  const char* name;
  ChatMode mode;
  std::string text;
  std::string status, content, reasoning, calls, trailing, unparsed;
};

class LenientParser : public testing::TestWithParam<Case> {};

TEST_P(LenientParser, MakesTheBestOfIt) {
  const Case& c = GetParam();
  const ParsedMessage message = parse(c.text, c.mode, {"f", "g"});
  EXPECT_EQ(message.status, c.status);
  EXPECT_EQ(message.content, c.content);
  EXPECT_EQ(message.reasoning_content, c.reasoning);
  EXPECT_EQ(calls(message), c.calls);
  EXPECT_EQ(message.trailing_text, c.trailing);
  EXPECT_EQ(message.unparsed_text, c.unparsed);
}

constexpr ChatMode kChat = ChatMode::kChat, kThink = ChatMode::kThinking;
const std::string kF = invoke("f"), kX = D("<", "invoke") + " name=\"f\">\n" + D("<", "parameter") + " name=\"a\"";
const std::string kString = " name=\"k\" string=\"true\"", kJson = " name=\"k\" string=\"false\"";

INSTANTIATE_TEST_SUITE_P(
    ChatParser, LenientParser,
    testing::Values(
        Case{"ThinkStart", kThink, "<think>r</think>c", "think_start_removed", "c", "r", "", "", ""},
        Case{"ThinkEnd", kChat, "</think>c", "think_end_removed", "c", "", "", "", ""},
        Case{"LaterThinkEnd", kChat, "a</think>c", "markup_in_content", "a</think>c", "", "", "", ""},
        Case{"Unclosed", kThink, "all of it", "reasoning_unclosed", "", "all of it", "", "", ""},
        Case{"UnclosedWithCalls", kThink, "r" + kOpen + kF + kClose, "reasoning_unclosed", "", "r", "f({})", "", ""},
        Case{"CallsInReasoning", kThink, "r" + kOpen + kF + kClose + "</think>c", "markup_in_reasoning", "c",
             "r" + kOpen + kF + kClose, "", "", ""},
        Case{"Alias", kChat, "c\n\n" + D("<", "toolcalls>") + kF + D("</", "function_calls>"), "opener_alias", "c", "",
             "f({})", "", ""},
        Case{"Bare", kChat, "c\n\n" + kF, "bare_invoke", "c", "", "f({})", "", ""},
        Case{"BareThenText", kChat, kF + " bye", "bare_invoke+trailing_text", "", "", "f({})", "bye", ""},
        Case{"Layout", kChat, "c \n" + kOpen.substr(2) + kF + kClose, "layout", "c", "", "f({})", "", ""},
        Case{"Empty", kChat, "c" + kOpen + kClose + "x", "empty_block+trailing_text", "c", "", "", "x", ""},
        Case{"NoClose", kChat, "c" + kOpen + kF, "block_unclosed", "c", "", "f({})", "", ""},
        Case{"NoInvokeClose", kChat, kOpen + D("<", "invoke name=\"f\">") + kF + kClose, "invoke_unclosed", "", "",
             "f({}) f({})", "", ""},
        Case{"StrayInContent", kChat, "a" + D("</", "invoke>") + "b", "stray_closer", "ab", "", "", "", ""},
        Case{"StrayInBlock", kChat, kOpen + kF + D("</", "parameter>") + kClose + kClose, "stray_closer", "", "",
             "f({})", "", ""},
        Case{"NoStringAttribute", kChat, kOpen + invoke("f", parameter(" name=\"k\"", "v")) + kClose, "string_assumed",
             "", "", R"(f({"k": "v"}))", "", ""},
        Case{"BadJson", kChat, kOpen + invoke("f", parameter(kJson, "oo\"ps")) + kClose, "args_repaired", "", "",
             R"(f({"k": "oo\"ps"}))", "", ""},
        Case{"NaN", kChat, kOpen + invoke("f", parameter(kJson, "NaN")) + kClose, "args_repaired", "", "",
             R"(f({"k": "NaN"}))", "", ""},
        Case{"Duplicate", kChat, kOpen + invoke("f", parameter(kString, "1") + parameter(kJson, "2")) + kClose,
             "duplicate_parameter", "", "", R"(f({"k": 2}))", "",
             D("<", "parameter") + kString + ">1" + D("</", "parameter>")},
        Case{"TextInBlock", kChat, kOpen + "so " + kF + "and" + kF + kClose, "text_in_block", "", "", "f({}) f({})", "",
             "so \nand"},
        Case{"MalformedInvoke", kChat, kOpen + D("<", "invoke nome=\"f\">") + kF + kClose, "malformed_tag", "", "",
             "f({})", "", D("<", "invoke nome=\"f\">")},
        Case{"UnknownTool", kChat, "c" + kOpen + invoke("h") + kClose, "unknown_tool",
             "c" + kOpen + invoke("h") + kClose, "", "", "", ""},
        Case{"UnknownAmongKnown", kChat, kOpen + invoke("h", parameter(kString, "v")) + kF + kClose, "unknown_tool", "",
             "", "f({})", "", D("<", "invoke name=\"h\">\n") + parameter(kString, "v") + D("</", "invoke>")},
        Case{"Truncated", kChat, kOpen + kF + kX + " string=\"true\">ab", "tool_truncated+block_unclosed", "", "",
             "f({})", "", kX + " string=\"true\">ab"},
        Case{"TruncatedInATag", kChat, kOpen + kF + kX, "tool_truncated+block_unclosed", "", "", "f({})", "", kX},
        Case{"Trailing", kChat, "c" + kOpen + kF + kClose + "\nbye", "trailing_text", "c", "", "f({})", "\nbye", ""},
        Case{"MarkupInAValue", kChat, kOpen + invoke("f", parameter(kString, kOpen + kF + kClose)) + kClose + " ",
             "layout", "", "", "f({\"k\": " + Json(kOpen + kF + kClose).dump() + "})", "", ""}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

TEST(ChatParser, ACompletionCutShortSaysSo) {
  const ParsedMessage message = parse_completion("half", /*ended_by_eos=*/false, ChatMode::kChat, {}, "r");
  EXPECT_EQ(message.status, "no_eos");
  EXPECT_EQ(message.content, "half");
  // The reference's parser would take this as a whole call.
  const ParsedMessage call = parse_completion(kOpen + D("<", "invoke name=\"f\">\n"), false, ChatMode::kChat, {}, "r");
  EXPECT_EQ(call.status, "no_eos+tool_truncated+block_unclosed");
  EXPECT_TRUE(call.tool_calls.empty());
}

}  // namespace
}  // namespace octet
