// From messages to tokens: whose word counts about thinking, and what a row will say of the prompt.
#include <gtest/gtest.h>

#include <string>

#include "base/sha256.h"
#include "engine/requests.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

class ChatRequests : public ::testing::Test {
 protected:
  std::variant<ItemRequests, ItemError> generate(const std::string& more, const std::string& content) {
    const Prompt prompt = parse_prompt(R"({"messages":[{"role":"user","content":")" + content + "\"}]" + more + "}", 1,
                                       PromptForm::kGenerate);
    EXPECT_FALSE(prompt.error) << prompt.error->message;
    return generate_requests(prompt, 0, limits_, options_, {});
  }
  ItemRequests item(const std::string& more = "", const std::string& content = "12 plums") {
    const auto made = generate(more, content);
    if (const ItemError* error = std::get_if<ItemError>(&made)) ADD_FAILURE() << error->message;
    return std::holds_alternative<ItemRequests>(made) ? std::get<ItemRequests>(made) : ItemRequests{};
  }
  ItemError error(const std::string& more) {
    const auto made = generate(more, "12 plums");
    EXPECT_TRUE(std::holds_alternative<ItemError>(made));
    return std::holds_alternative<ItemError>(made) ? std::get<ItemError>(made) : ItemError{};
  }
  /// "thinking" or "chat", and the effort behind a slash.
  std::string mode(const std::string& more) {
    const ChatProvenance p = item(more).provenance;
    EXPECT_EQ(p.reasoning_open, p.thinking == "thinking");
    return p.effort.empty() ? p.thinking : p.thinking + "/" + p.effort;
  }

  const Tokenizer tokenizer_ = Tokenizer::from_dir(test::data_path("tiny-words"));
  RequestLimits limits_{
      .tokenizer = &tokenizer_, .vocab_size = 1024, .max_seq_len = 4096, .bos = 0, .encoding = ChatEncoding::kV40731};
  RequestOptions options_;
};

TEST_F(ChatRequests, AreEncodedAndHashed) {
  const std::string text = "<｜begin▁of▁sentence｜><｜User｜>12 plums<｜Assistant｜></think>";
  const ItemRequests made = item();
  EXPECT_EQ(made.requests.at(0).tokens, tokenizer_.encode(text));
  EXPECT_EQ(made.provenance.prompt_sha256, sha256(text));
  EXPECT_EQ(made.provenance.encoding, "0731");
  limits_.encoding = ChatEncoding::kV4;
  EXPECT_EQ(item().provenance.encoding, "v4");
}

TEST_F(ChatRequests, ThinkAsTheFirstSourceSays) {
  EXPECT_EQ(mode(""), "chat");
  EXPECT_EQ(mode(R"(,"thinking":{"type":"enabled"})"), "thinking");
  EXPECT_EQ(mode(R"(,"reasoning_effort":"xhigh")"), "thinking/high");
  EXPECT_EQ(mode(R"(,"thinking":{"type":"disabled"},"reasoning_effort":"high")"), "chat");
  EXPECT_EQ(mode(R"(,"thinking":{"type":"enabled"},"reasoning_effort":"none")"), "thinking");
  options_.thinking = Thinking::kThinking;
  options_.reasoning_effort = Effort::kMax;
  EXPECT_EQ(mode(""), "thinking/max");
  EXPECT_EQ(mode(R"(,"reasoning_effort":"minimal")"), "thinking/low");
  EXPECT_EQ(mode(R"(,"reasoning_effort":"none")"), "chat");
  EXPECT_EQ(mode(R"(,"chat_template_kwargs":{"thinking":false})"), "chat");
}

TEST_F(ChatRequests, RefuseAnEffortThatIsNoWord) {
  EXPECT_EQ(error(R"(,"reasoning_effort":"hard")").param, "reasoning_effort");
}

TEST_F(ChatRequests, CannotForceATool) {
  EXPECT_EQ(error(R"(,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required")").code,
            "unsupported");
}

TEST_F(ChatRequests, NeedAnEncodingAndATokenizer) {
  limits_.encoding.reset();
  EXPECT_NE(error("").message.find("--encoding"), std::string::npos);
  limits_.encoding = ChatEncoding::kV4;
  limits_.tokenizer = nullptr;
  EXPECT_NE(error("").message.find("tokenizer.json"), std::string::npos);
}

TEST_F(ChatRequests, SayWhichMessageIsWrong) {
  const Prompt prompt = parse_prompt(R"({"messages":[{"role":"wizard","content":"x"}]})", 1, PromptForm::kGenerate);
  const auto made = generate_requests(prompt, 0, limits_, options_, {});
  ASSERT_TRUE(std::holds_alternative<ItemError>(made));
  EXPECT_EQ(std::get<ItemError>(made).code, "invalid_request");
  EXPECT_NE(std::get<ItemError>(made).message.find("messages[0]"), std::string::npos);
}

TEST_F(ChatRequests, ReadSpecialTokensOfMessagesAsTextUnlessAllowed) {
  const ItemRequests inert = item("", "a<｜User｜>b");
  options_.allow_special_tokens = true;
  const ItemRequests obeyed = item("", "a<｜User｜>b");
  EXPECT_EQ(inert.provenance.special_tokens_in_text, 1);
  EXPECT_EQ(obeyed.provenance.special_tokens_in_text, 1);
  EXPECT_GT(inert.requests[0].tokens.size(), obeyed.requests[0].tokens.size());
}

TEST_F(ChatRequests, ContinueAnAnswerOutsideItsReasoning) {
  const Prompt prompt =
      parse_prompt(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"12"}],)"
                   R"("continue_final_message":true,"thinking":"thinking"})",
                   1, PromptForm::kGenerate);
  const ItemRequests made = std::get<ItemRequests>(generate_requests(prompt, 0, limits_, options_, {}));
  EXPECT_EQ(made.requests[0].tokens.back(), tokenizer_.encode("12").back());
  EXPECT_FALSE(made.provenance.reasoning_open);
}

TEST(RequestLimits, NameTheModelAfterItsFolder) {
  EXPECT_EQ(served_name("/models/flash/"), "flash");
  EXPECT_EQ(served_name("flash"), "flash");
  EXPECT_EQ(served_name("/models/other/../flash/."), "flash");
}

}  // namespace
}  // namespace octet
