// What the chat encoding makes of conversations: its rules one by one, and requests it must refuse.
#include "text/chat.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/sha256.h"
#include "tests/unit/text/chat_fixtures.h"
#include "tests/unit/text/text_fixtures.h"
#include "text/chat_template.h"

namespace octet {
namespace {

std::string encoded(std::string_view messages, ChatMode mode = ChatMode::kChat) {
  return test::shown(encode_chat(test::chat_request(messages, mode), ChatEncoding::kV40731));
}

std::string thinking(std::string_view messages) {
  return encoded(messages, ChatMode::kThinking);
}

TEST(ChatTemplate, HasTheRecordedChecksums) {
  EXPECT_EQ(sha256(kToolsHead), "c7c9042638154a237b5d1bd48be772374a35a4d24c5cacfd1ffbd92703da329c");
  EXPECT_EQ(sha256(kToolsTail), "690702850fe256512cb1ee67c4e436ecb3e735c71ebee77ca45ff357a75fb5a7");
  EXPECT_EQ(sha256(kAbsoluteMaximumEffort), "f7a24f3b3050d4a83781e9b755b316aae2ec1d9dc87562541d90bcb04d7350f7");
  EXPECT_EQ(sha256(kBeyondMaximumEffort), "53fb31b8392ec5b4a926481943efc67636748f137c1a49d493a7af4d4fa55d2c");
}

TEST(Chat, ChatModeAlwaysClosesTheThinkingAtOnce) {
  EXPECT_EQ(encoded(R"([{"role":"user","content":"A"},{"role":"assistant","reasoning":"r","content":"B"},
                        {"role":"user","content":"C"}])"),
            "[BOS][U]A[A][</think>]B[EOS][U]C[A][</think>]");
}

TEST(Chat, EarlierThoughtsAreDropped) {
  EXPECT_EQ(thinking(R"([{"role":"user","content":"A"},{"role":"assistant","reasoning_content":"r1","content":"B"},
                         {"role":"user","content":"C"},{"role":"assistant","reasoning_content":"r2","content":"D"}])"),
            "[BOS][U]A[A][</think>]B[EOS][U]C[A][<think>]r2[</think>]D[EOS]");
}

TEST(Chat, EarlierThoughtsStayOnRequest) {
  ChatRequest request = test::chat_request(
      R"([{"role":"user","content":"A"},{"role":"assistant","content":"B"},{"role":"user","content":"C"}])",
      ChatMode::kThinking);
  request.drop_thinking = false;
  EXPECT_EQ(test::shown(encode_chat(request, ChatEncoding::kV4)),
            "[BOS][U]A[A][<think>][</think>]B[EOS][U]C[A][<think>]");
}

TEST(Chat, WithToolsAllThoughtsStayAndEmptyOnesShow) {
  const std::string prompt =
      thinking(R"([{"role":"system","tools":[{"function":{"name":"f"}}]},{"role":"user","content":"A"},
                   {"role":"assistant","content":"B"},{"role":"user","content":"C"}])");
  EXPECT_NE(prompt.find("[U]A[A][<think>][</think>]B[EOS][U]C[A][<think>]"), prompt.npos) << prompt;
}

TEST(Chat, EarlierDeveloperTurnsVanishWithTheThoughts) {
  const char* messages = R"([{"role":"developer","content":"D"},{"role":"assistant","content":"B"},
                             {"role":"user","content":"C"}])";
  EXPECT_EQ(thinking(messages), "[BOS]B[EOS][U]C[A][<think>]");
  EXPECT_EQ(encoded(messages), "[BOS][U]D[A][</think>]B[EOS][U]C[A][</think>]");
}

TEST(Chat, AReminderBehindAUserTurnComesAfterTheAssistantsHeader) {
  EXPECT_EQ(thinking(R"([{"role":"user","content":"A"},{"role":"latest_reminder","content":"now"}])"),
            "[BOS][U]A[A][<think>][<｜latest_reminder｜>]now");
  EXPECT_EQ(thinking(R"([{"role":"latest_reminder","content":"now"},{"role":"user","content":"A"}])"),
            "[BOS][<｜latest_reminder｜>]now[U]A[A][<think>]");
}

TEST(Chat, ToolResultsCountAsAUserTurn) {
  EXPECT_EQ(thinking(R"([{"role":"user","content":"A"},
              {"role":"assistant","reasoning":"r","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},
              {"role":"tool","content":"1"}])"),
            "[BOS][U]A[A][</think>]\n\n<[｜DSML｜]tool_calls>\n<[｜DSML｜]invoke name=\"f\">\n\n</[｜DSML｜]invoke>\n"
            "</[｜DSML｜]tool_calls>[EOS][U]<tool_result>1</tool_result>[A][<think>]");
}

TEST(Chat, UserTurnsAndToolResultsJoin) {
  EXPECT_EQ(encoded(R"([{"role":"user","content":"A"},{"role":"tool","content":"1"},{"role":"user","content":null}])"),
            "[BOS][U]A\n\n<tool_result>1</tool_result>\n\n[A][</think>]");
}

TEST(Chat, ATextDoesNotJoinATurnWithATask) {
  EXPECT_EQ(encoded(R"([{"role":"user","content":"A","task":"query"},{"role":"user","content":"B"}])"),
            "[BOS][U]A[U]B[A][</think>]");
  EXPECT_EQ(encoded(R"([{"role":"user","content":"A","task":"query"},{"role":"tool","content":"B"}])"),
            "[BOS][U]A\n\n<tool_result>B</tool_result>[<｜query｜>]");
}

TEST(Chat, ToolResultsFollowTheOrderOfTheirCalls) {
  const std::string prompt = encoded(R"([{"role":"user","content":"q"},
      {"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f"}},
                                                     {"id":"b","function":{"name":"g"}}]},
      {"role":"tool","tool_call_id":"b","content":"2"},{"role":"user","content":"and"},
      {"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"?","content":"0"}])");
  EXPECT_EQ(prompt.substr(prompt.find("[EOS]")),
            "[EOS][U]<tool_result>1</tool_result>\n\nand\n\n<tool_result>0</tool_result>\n\n"
            "<tool_result>2</tool_result>[A][</think>]");
}

TEST(Chat, TasksReplaceTheAssistantsHeader) {
  for (const char* task : {"query", "authority", "domain", "title", "read_url"}) {
    const std::string messages = R"([{"role":"user","content":"A","task":")" + std::string(task) + "\"}]";
    EXPECT_EQ(thinking(messages), "[BOS][U]A[<｜" + std::string(task) + "｜>]");
  }
  EXPECT_EQ(encoded(R"([{"role":"user","content":"A","task":"action"}])"), "[BOS][U]A[A][</think>][<｜action｜>]");
  EXPECT_EQ(thinking(R"([{"role":"user","content":"A","task":"action"},{"role":"assistant","content":"Go"}])"),
            "[BOS][U]A[A][<think>][<｜action｜>]Go[EOS]");
}

TEST(Chat, EffortIsSaidOnceInFrontAndJoinsTheSystemText) {
  const char* messages = R"([{"role":"system","content":"S"},{"role":"user","content":"A"}])";
  const auto prompt = [&](const char* effort, ChatEncoding encoding) {
    ChatRequest request = test::chat_request(messages, ChatMode::kThinking);
    request.effort = effort;
    return test::shown(encode_chat(request, encoding));
  };
  const std::string plain = "[BOS]S[U]A[A][<think>]";
  const std::string a = "[BOS]" + std::string(kAbsoluteMaximumEffort) + plain.substr(5);
  const std::string b = "[BOS]" + std::string(kBeyondMaximumEffort) + plain.substr(5);
  EXPECT_EQ(prompt("", ChatEncoding::kV4), plain);
  EXPECT_EQ(prompt("low", ChatEncoding::kV4), plain);
  EXPECT_EQ(prompt("high", ChatEncoding::kV4), plain);
  EXPECT_EQ(prompt("max", ChatEncoding::kV4), a);
  EXPECT_EQ(prompt("", ChatEncoding::kV40731), plain);
  EXPECT_EQ(prompt("low", ChatEncoding::kV40731), plain);
  EXPECT_EQ(prompt("high", ChatEncoding::kV40731), a);
  EXPECT_EQ(prompt("max", ChatEncoding::kV40731), b);
  EXPECT_THROW(prompt("huge", ChatEncoding::kV4), ChatError);
}

TEST(Chat, WordsForTheEffortGiveModeAndTier) {
  EXPECT_EQ(effort_from_word("none")->mode, ChatMode::kChat);
  const std::pair<const char*, const char*> kWords[] = {{"minimal", "low"}, {"low", "low"},    {"medium", "high"},
                                                        {"high", "high"},   {"xhigh", "high"}, {"max", "max"},
                                                        {"ultra", "max"}};
  for (const auto& [word, tier] : kWords) {
    EXPECT_EQ(effort_from_word(word)->mode, ChatMode::kThinking) << word;
    EXPECT_EQ(effort_from_word(word)->tier, tier) << word;
  }
  EXPECT_FALSE(effort_from_word("High"));
  EXPECT_FALSE(effort_from_word(""));
}

TEST(Chat, BosCanBeLeftOut) {
  ChatRequest request = test::chat_request(R"([{"role":"user","content":"A"}])");
  request.add_bos = false;
  EXPECT_EQ(test::shown(encode_chat(request, ChatEncoding::kV4)), "[U]A[A][</think>]");
}

TEST(Chat, AFinalAnswerCanBeContinued) {
  ChatRequest request = test::chat_request(
      R"([{"role":"user","content":"A"},{"role":"assistant","reasoning":"r","content":"Once"}])", ChatMode::kThinking);
  request.continue_final = true;
  EXPECT_EQ(test::shown(encode_chat(request, ChatEncoding::kV4)), "[BOS][U]A[A][<think>]r[</think>]Once");
  request.messages = parse_json(R"([{"role":"user","content":"A"}])", "messages");
  EXPECT_THROW(encode_chat(request, ChatEncoding::kV4), ChatError);
}

// Control tokens written in a message; the tokenizer of the small model has <｜User｜> = 1020 among others.

const Tokenizer& tiny_tokenizer() {
  static const Tokenizer kTokenizer = Tokenizer::from_dir(test::kTinyDir);
  return kTokenizer;
}

TEST(ChatTokens, ControlTokensInAMessageStayText) {
  const ChatPrompt prompt =
      encode_chat(test::chat_request(R"([{"role":"user","content":"a<｜User｜>b</think>"}])"), ChatEncoding::kV4);
  const auto count = [&](bool allow, int32_t id) {
    const std::vector<int32_t> ids = tokenize(prompt, tiny_tokenizer(), allow);
    return std::count(ids.begin(), ids.end(), id);
  };
  EXPECT_EQ(count(/*allow=*/false, 1020), 1);
  EXPECT_EQ(count(/*allow=*/false, 1023), 1);
  EXPECT_EQ(count(/*allow=*/true, 1020), 2);
  EXPECT_EQ(count(/*allow=*/true, 1023), 2);
  EXPECT_EQ(count_special_in_text(prompt, tiny_tokenizer()), 2);
  EXPECT_EQ(tokenize(prompt, tiny_tokenizer(), /*allow_special_tokens=*/true), tiny_tokenizer().encode(prompt.text()));
}

TEST(ChatTokens, AControlTokenTheTokenizerLacksIsNamed) {
  const ChatPrompt prompt =
      encode_chat(test::chat_request(R"([{"role":"latest_reminder","content":"x"}])"), ChatEncoding::kV4);
  for (const bool allow : {false, true}) {
    try {
      tokenize(prompt, tiny_tokenizer(), allow);
      ADD_FAILURE() << "no error";
    } catch (const ChatError& error) {
      EXPECT_NE(std::string(error.what()).find("<｜latest_reminder｜>"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace octet
