// The chat encoding against recorded prompts and token ids, and against the fixtures of its makers.
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/text/chat_fixtures.h"
#include "tests/unit/text/text_fixtures.h"
#include "text/chat.h"

namespace octet {
namespace {

using test::real_tokenizer;

bool option_is(const Json& example, std::string_view name, bool otherwise) {
  const Json* value = example.find("options")->find(name);
  return value == nullptr ? otherwise : value->boolean;
}

std::string option_word(const Json& example, std::string_view name) {
  const Json* value = example.find("options")->find(name);
  return value == nullptr ? "" : value->text;
}

ChatPrompt encode_example(const Json& example) {
  ChatRequest request;
  request.messages = *example.find("messages");
  request.mode = option_is(example, "thinking", false) ? ChatMode::kThinking : ChatMode::kChat;
  request.effort = option_word(example, "effort");
  request.drop_thinking = option_is(example, "drop", true);
  return encode_chat(request, option_word(example, "profile") == "preview" ? ChatEncoding::kV4 : ChatEncoding::kV40731);
}

const Json& examples() {
  static const Json kExamples = parse_json(test::read_file(test::kDataDir + "/text/chat_examples.json"), "examples");
  return kExamples;
}

TEST(ChatExamples, GiveTheRecordedPrompts) {
  ASSERT_EQ(examples().items.size(), 19u);
  for (const Json& example : examples().items) {
    EXPECT_EQ(encode_example(example).text(), example.find("prompt")->text) << example.find("name")->text;
  }
}

TEST(ChatExamples, GiveTheRecordedTokens) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  for (const Json& example : examples().items) {
    const ChatPrompt prompt = encode_example(example);
    const std::vector<int32_t> expected = test::ids_of(*example.find("token_ids"));
    EXPECT_EQ(tokenize(prompt, *real_tokenizer(), /*allow_special_tokens=*/false), expected) << prompt.text();
    EXPECT_EQ(tokenize(prompt, *real_tokenizer(), /*allow_special_tokens=*/true), expected) << prompt.text();
    EXPECT_EQ(count_special_in_text(prompt, *real_tokenizer()), 0) << prompt.text();
  }
}

/// One of the four fixtures of the official encoder: they belong to its makers and are not in the repository.
struct Fixture {
  int number;
  ChatMode mode;
  size_t tokens;
};

class OfficialFixture : public testing::TestWithParam<Fixture> {};

TEST_P(OfficialFixture, IsReproducedByteForByte) {
  const std::string stem = test::shared_path("data/text/official_fixtures/test_");
  const std::string number = std::to_string(GetParam().number);
  const std::string expected = test::read_file(stem + "output_" + number + ".txt");
  if (expected.empty()) GTEST_SKIP() << "no official_fixtures in OCTET_TEST_SHARED (or in ../shared)";
  const Json input = parse_json(test::read_file(stem + "input_" + number + ".json"), "fixture");
  ChatRequest request;
  request.mode = GetParam().mode;
  request.messages = input.is(Json::Kind::kArray) ? input : *input.find("messages");
  if (const Json* tools = input.find("tools")) request.tools = *tools;
  const ChatPrompt prompt = encode_chat(request, ChatEncoding::kV40731);
  EXPECT_EQ(prompt.text(), expected);
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  EXPECT_EQ(tokenize(prompt, *real_tokenizer(), /*allow_special_tokens=*/false).size(), GetParam().tokens);
  EXPECT_EQ(tokenize(prompt, *real_tokenizer(), /*allow_special_tokens=*/true).size(), GetParam().tokens);
}

INSTANTIATE_TEST_SUITE_P(Chat, OfficialFixture,
                         testing::Values(Fixture{1, ChatMode::kThinking, 541}, Fixture{2, ChatMode::kThinking, 53},
                                         Fixture{3, ChatMode::kThinking, 820}, Fixture{4, ChatMode::kChat, 582}),
                         [](const auto& fixture) { return std::to_string(fixture.param.number); });

/// A conversation of random messages full of control strings.
std::string hostile_messages(test::Random& random) {
  const auto text = [&random] {
    static const std::vector<std::string> kPieces = {"<｜User｜>", "<｜Assistant｜>",
                                                     "<think>",    "</think>",
                                                     "｜DSML｜",   "<｜end▁of▁sentence｜>",
                                                     "word ",      "<",
                                                     "｜",         "\n",
                                                     "x"};
    std::string all;
    for (int64_t left = random.integer(0, 6); left > 0; --left) {
      all += kPieces[static_cast<size_t>(random.integer(0, static_cast<int64_t>(kPieces.size()) - 1))];
    }
    return Json(all).dump();
  };
  std::string all = R"([{"role":"system","content":)" + text();
  if (random.integer(0, 1) == 0) {
    all += R"(,"tools":[{"type":"function","function":{"name":"f","description":)" + text() + "}}]";
  }
  all += "}";
  for (int64_t left = random.integer(1, 5); left > 0; --left) {
    all += R"(,{"role":"user","content":)" + text() + R"(},{"role":"assistant","content":)" + text() +
           R"(,"reasoning":)" + text() + R"(,"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"k":)" +
           text() + R"(,"n":[)" + text() + R"(]}}}]},{"role":"tool","tool_call_id":"a","content":)" + text() + "}";
  }
  return all + R"(,{"role":"user","content":)" + text() + "}]";
}

TEST(ChatTokens, WithSpecialTokensAllowedEqualTheWholeStringsTokens) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  test::Random random(21);
  for (int round = 0; round < 300; ++round) {
    const ChatMode mode = random.integer(0, 1) == 0 ? ChatMode::kChat : ChatMode::kThinking;
    const ChatPrompt prompt = encode_chat(test::chat_request(hostile_messages(random), mode), ChatEncoding::kV4);
    ASSERT_EQ(tokenize(prompt, *real_tokenizer(), /*allow_special_tokens=*/true),
              real_tokenizer()->encode(prompt.text()));
  }
}

TEST(ChatTokens, NoMessageCanWriteAControlToken) {
  if (!real_tokenizer()) GTEST_SKIP() << test::kNoRealTokenizer;
  test::Random random(22);
  for (int round = 0; round < 300; ++round) {
    const ChatPrompt prompt = encode_chat(test::chat_request(hostile_messages(random)), ChatEncoding::kV4);
    const std::vector<int32_t> ids = tokenize(prompt, *real_tokenizer(), /*allow_special_tokens=*/false);
    ASSERT_EQ(real_tokenizer()->decode(ids, /*skip_special=*/false), prompt.text());
    std::vector<int32_t> controls, expected;
    for (const int32_t id : ids) {
      if (id <= 2 || id >= 128000) controls.push_back(id);
    }
    for (const PromptPart& part : prompt.parts) {
      if (part.control) expected.push_back(real_tokenizer()->added_token_id(part.text).value());
    }
    ASSERT_EQ(controls, expected);
  }
}

TEST(ChatTokens, PartsAreAsLongAsTheyCanBe) {
  test::Random random(23);
  for (int round = 0; round < 100; ++round) {
    const ChatPrompt prompt =
        encode_chat(test::chat_request(hostile_messages(random), ChatMode::kThinking), ChatEncoding::kV4);
    for (size_t i = 0; i < prompt.parts.size(); ++i) {
      ASSERT_FALSE(prompt.parts[i].text.empty());
      ASSERT_TRUE(i == 0 || prompt.parts[i].control || prompt.parts[i - 1].control);
    }
  }
}

}  // namespace
}  // namespace octet
