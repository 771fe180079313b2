// Requests in the form of OpenAI's chat API: what each member does, and what is refused.
#include <gtest/gtest.h>

#include "tests/unit/text/chat_fixtures.h"
#include "text/chat.h"
#include "text/chat_template.h"

namespace octet {
namespace {

const char* const kUser = R"([{"role":"user","content":"A"}])";
const char* const kTools = R"([{"type":"function","function":{"name":"f","n":1E2}}])";
const std::string kShownTools = [] {
  std::string head(kToolsHead);
  for (const std::string_view token : {"｜DSML｜", "<think>", "</think>"}) {
    for (size_t at = head.find(token); at != head.npos; at = head.find(token, at + token.size() + 2)) {
      head.replace(at, token.size(), "[" + std::string(token) + "]");
      ++at;
    }
  }
  return "\n\n" + head + R"({"name": "f", "n": 100.0})" + std::string(kToolsTail);
}();

std::string encoded(const ChatRequest& request) {
  return test::shown(encode_chat(request, ChatEncoding::kV4));
}

ChatRequest with(std::string_view messages, const char* tools, const char* format = "null",
                 const char* choice = "null") {
  ChatRequest request = test::chat_request(messages);
  request.tools = parse_json(tools, "tools");
  request.response_format = parse_json(format, "format");
  request.tool_choice = parse_json(choice, "choice");
  return request;
}

TEST(ChatRequest, ToolsGoOntoAFirstSystemOrDeveloperMessage) {
  EXPECT_EQ(encoded(with(R"([{"role":"system","content":"S"},{"role":"user","content":"A"}])", kTools)),
            "[BOS]S" + kShownTools + "[U]A[A][</think>]");
  EXPECT_EQ(encoded(with(R"([{"role":"developer","content":"D"}])", kTools)),
            "[BOS][U]D" + kShownTools + "[A][</think>]");
}

TEST(ChatRequest, ToolsReplaceThoseOfTheFirstMessage) {
  EXPECT_EQ(encoded(with(R"([{"role":"system","content":"S","tools":[{"function":{"name":"old"}}]}])", kTools)),
            "[BOS]S" + kShownTools);
}

TEST(ChatRequest, ToolsBringAnEmptySystemMessageElse) {
  EXPECT_EQ(encoded(with(kUser, kTools)), "[BOS]" + kShownTools + "[U]A[A][</think>]");
  EXPECT_EQ(encoded(with(kUser, "[]")), "[BOS][U]A[A][</think>]");
}

TEST(ChatRequest, ToolChoiceNoneLeavesToolsOutAndAForcedCallIsRefused) {
  EXPECT_EQ(encoded(with(kUser, kTools, "null", "\"none\"")), "[BOS][U]A[A][</think>]");
  EXPECT_EQ(encoded(with(kUser, kTools, "null", "\"auto\"")), "[BOS]" + kShownTools + "[U]A[A][</think>]");
  EXPECT_THROW(encoded(with(kUser, kTools, "null", "\"required\"")), ChatError);
  EXPECT_THROW(encoded(with(kUser, kTools, "null", R"({"type":"function","function":{"name":"f"}})")), ChatError);
}

TEST(ChatRequest, AJsonSchemaGoesOntoTheFirstSystemOrDeveloperMessage) {
  const char* schema = R"({"type":"json_schema","json_schema":{"name":"n","schema":{"a":[1,2]}}})";
  const std::string shown = "\n\n" + std::string(kResponseFormatHead) + R"({"a": [1, 2]})";
  EXPECT_EQ(encoded(with(kUser, "null", schema)), "[BOS]" + shown + "[U]A[A][</think>]");
  EXPECT_EQ(encoded(with(R"([{"role":"user","content":"A"},{"role":"system","content":"S"}])", "null", schema)),
            "[BOS][U]AS" + shown);
  EXPECT_EQ(encoded(with(kUser, kTools, schema)), "[BOS]" + kShownTools + shown + "[U]A[A][</think>]");
}

TEST(ChatRequest, OtherResponseFormatsSayNothingOrAreRefused) {
  EXPECT_EQ(encoded(with(kUser, "null", R"({"type":"text"})")), "[BOS][U]A[A][</think>]");
  EXPECT_EQ(encoded(with(kUser, "null", R"({"type":"json_object"})")), "[BOS][U]A[A][</think>]");
  EXPECT_THROW(encoded(with(kUser, "null", R"({"type":"grammar"})")), ChatError);
  EXPECT_THROW(encoded(with(kUser, "null", R"({"type":"json_schema"})")), ChatError);
}

TEST(ChatRequest, TextPartsAreJoinedByAnEmptyLine) {
  EXPECT_EQ(encoded(test::chat_request(R"([
      {"role":"system","content":[{"type":"text","text":"S"},{"type":"text","text":"T"}]},
      {"role":"user","content":[{"type":"text","text":"A"},{"type":"text","text":"B"}]}])")),
            "[BOS]S\n\nT[U]A\n\nB[A][</think>]");
  EXPECT_THROW(encoded(test::chat_request(R"([{"role":"user","content":[{"type":"image_url"}]}])")), ChatError);
}

TEST(ChatRequest, NullContentIsEmpty) {
  EXPECT_EQ(encoded(test::chat_request(R"([{"role":"system","content":null},{"role":"user"}])")),
            "[BOS][U][A][</think>]");
}

/// The markup of a call of f with these arguments (JSON of the member).
std::string call_of(const std::string& arguments, ChatPrompt* prompt = nullptr) {
  const ChatPrompt made =
      encode_chat(test::chat_request(R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":)" +
                                     arguments + "}}]}]"),
                  ChatEncoding::kV4);
  if (prompt != nullptr) *prompt = made;
  const std::string text = made.text();
  const size_t begin = text.find("name=\"f\">\n") + 10;
  return text.substr(begin, text.find("\n</｜DSML｜invoke>") - begin);
}

std::string parameter(const std::string& key, const char* is_string, const std::string& value) {
  return "<｜DSML｜parameter name=\"" + key + "\" string=\"" + is_string + "\">" + value + "</｜DSML｜parameter>";
}

TEST(ChatArguments, AnObjectIsTakenLikeItsText) {
  EXPECT_EQ(call_of(R"({"b":1,"a":"x"})"), parameter("b", "false", "1") + "\n" + parameter("a", "true", "x"));
  EXPECT_EQ(call_of(R"("{\"b\":1,\"a\":\"x\"}")"), call_of(R"({"b":1,"a":"x"})"));
}

TEST(ChatArguments, ARepeatedKeyKeepsItsFirstPlaceAndLastValue) {
  EXPECT_EQ(call_of(R"("{\"b\":1,\"a\":2,\"b\":\"3\"}")"),
            parameter("b", "true", "3") + "\n" + parameter("a", "false", "2"));
}

TEST(ChatArguments, NaNAndBigNumbersAreShownAsPythonWould) {
  EXPECT_EQ(call_of(R"("{\"a\":[NaN,1e400,12345678901234567890123]}")"),
            parameter("a", "false", "[NaN, Infinity, 12345678901234567890123]"));
}

TEST(ChatArguments, OtherJsonAndOtherTextIsOneStringWithAWarning) {
  for (const char* text : {"[1]", "5", "not json", ""}) {
    ChatPrompt prompt;
    EXPECT_EQ(call_of(Json(text).dump(), &prompt), parameter("arguments", "true", text));
    EXPECT_EQ(prompt.warnings.size(), 1u);
  }
  ChatPrompt prompt;
  EXPECT_EQ(call_of("null", &prompt), "");
  EXPECT_TRUE(prompt.warnings.empty());
}

TEST(ChatArguments, HostileNestingIsAnError) {
  EXPECT_THROW(call_of(Json(std::string(100000, '[')).dump()), ChatError);
  EXPECT_THROW(call_of("[1]"), ChatError);
}

TEST(ChatRequest, WhatHasNoMeaningIsRefusedAndNamed) {
  const std::pair<const char*, const char*> kCases[] = {
      {"{}", "messages"},
      {"[]", "messages is empty"},
      {"[1]", "messages[0]"},
      {R"([{"content":"A"}])", "role"},
      {R"([{"role":"user","content":"A"},{"role":"narrator","content":"A"}])", "messages[1]: \"narrator\""},
      {R"([{"role":"user","content":5}])", "messages[0]"},
      {R"([{"role":"user","content":{"text":"A"}}])", "messages[0]"},
      {R"([{"role":"user","content":["A"]}])", "type of a part"},
      {R"([{"role":"tool","content":[{"text":"A"}]}])", "type of a part"},
      {R"([{"role":"developer","content":""}])", "developer"},
      {R"([{"role":"user","content":"A","task":"poem"}])", "poem"},
      {R"([{"role":"user","content":"A","task":7}])", "task"},
      {R"([{"role":"assistant","tool_calls":{"a":1}}])", "tool_calls"},
      {R"([{"role":"assistant","tool_calls":[1]}])", "function name"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"name":null}}]}])", "function name"},
      {R"([{"role":"system","tools":{"a":1}}])", "tools"},
      {R"([{"role":"system","tools":[{"name":"f"}]}])", "function"},
      {R"([{"role":"tool","tool_call_id":3,"content":"A"}])", "tool_call_id"}};
  for (const auto& [messages, named] : kCases) {
    try {
      encoded(test::chat_request(messages));
      ADD_FAILURE() << "no error for " << messages;
    } catch (const ChatError& error) {
      EXPECT_NE(std::string_view(error.what()).find(named), std::string_view::npos) << error.what();
    }
  }
}

TEST(ChatRequest, AToolsOtherPartsAreNamed) {
  EXPECT_EQ(encoded(test::chat_request(R"([{"role":"tool","content":[{"type":"image"},{"type":"text"}]}])")),
            "[BOS][U]<tool_result>[Unsupported image]\n\n</tool_result>[A][</think>]");
}

}  // namespace
}  // namespace octet
