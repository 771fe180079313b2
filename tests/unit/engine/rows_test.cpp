// Rows, byte by byte: native and in the form of OpenAI's batch files.
#include "engine/rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/test_files.h"

namespace octet {
namespace {

constexpr const char* kHash = "0123456789abcdef";

class Rows : public ::testing::Test {
 protected:
  static Prompt prompt(const std::string& line) { return parse_prompt(line, 3, PromptForm::kGenerate); }
  static Prompt chat(const std::string& more = "") {
    return prompt(R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions",)"
                  R"("body":{"messages":[{"role":"user","content":"x"}])" +
                  more + "}}");
  }
  /// What was drawn: `text`, then EOS.
  Completion completion(const std::string& text, int32_t choice = 0) const {
    Completion c;
    c.finished.choice = choice;
    c.finished.prompt_tokens = 5;
    c.finished.cached_tokens = choice == 0 ? 2 : 4;
    c.finished.seed = 9 + static_cast<uint64_t>(choice);
    c.finished.tokens = tokenizer_.encode(text);
    c.finished.tokens.push_back(1);
    c.finished.ended_by_eos = true;
    c.finished.reason = FinishReason::kStop;
    c.timing = {.queue_us = 1000, .prefill_us = 2500, .decode_us = 1};
    return c;
  }
  Json row(const Prompt& p, const std::vector<Completion>& choices, const ChatProvenance& provenance = {}) const {
    return completion_row(p, provenance, choices, kHash, context_);
  }
  static std::string at(const Json& json, const std::vector<std::string>& path) {
    const Json* found = &json;
    for (const std::string& key : path) {
      const bool is_index = found->is(Json::Kind::kArray);
      found = is_index ? &found->items.at(std::stoul(key)) : found->find(key);
      if (!found) return "(no " + key + ")";
    }
    return found->dump();
  }

  const Tokenizer tokenizer_ = Tokenizer::from_dir(test::data_path("tiny-words"));
  RowContext context_{.tokenizer = &tokenizer_, .model = "tiny", .created = 1760000000};
  const ChatProvenance thinking_{.encoding = "0731",
                                 .thinking = "thinking",
                                 .effort = "high",
                                 .reasoning_open = true,
                                 .special_tokens_in_text = 2,
                                 .prompt_sha256 = "ab"};
};

TEST_F(Rows, OfANativePromptKeepTheirFormat) {
  Completion c = completion("");
  c.finished.tokens = {5, 1};
  context_.tokenizer = nullptr;
  EXPECT_EQ(row(prompt(R"({"id":"a","prompt":"x"})"), {c}).dump(),
            R"({"id":"a","line":3,"text":null,"token_ids":[5,1],"finish_reason":"stop",)"
            R"("usage":{"prompt_tokens":5,"completion_tokens":2,"cached_tokens":2},)"
            R"("timing":{"queue_ms":1,"prefill_ms":2.5,"ttft_ms":3.5,"ttft_sched_ms":2.5,"decode_ms":0.001,)"
            R"("total_ms":3.501},"x":{"seed":9,"input_hash":"0123456789abcdef","prompt_sha256":null},"error":null})");
}

TEST_F(Rows, OfANativeChatHaveAMessage) {
  const Json json =
      row(prompt(R"({"messages":[{"role":"user","content":"x"}]})"), {completion("so</think>12")}, thinking_);
  EXPECT_EQ(at(json, {"message"}), R"({"role":"assistant","content":"12","reasoning_content":"so","tool_calls":[]})");
  EXPECT_EQ(at(json, {"text"}), "(no text)");
  EXPECT_EQ(at(json, {"x"}), R"({"seed":9,"input_hash":"0123456789abcdef","encoding":"0731","thinking":"thinking",)"
                             R"("reasoning_effort":"high","special_tokens_in_text":2,"prompt_sha256":"ab",)"
                             R"("parse_status":"strict"})");
}

TEST_F(Rows, KeepTheTextOfAChatThatIsNoProperMessage) {
  const Json json = row(prompt(R"({"messages":[{"role":"user","content":"x"}]})"), {completion("so 12")}, thinking_);
  EXPECT_EQ(at(json, {"x", "parse_status"}), "\"reasoning_unclosed\"");
  EXPECT_EQ(at(json, {"x", "raw_text"}), "\"so 12\"");
}

TEST_F(Rows, ListSeveralCompletions) {
  const Json json = row(prompt(R"({"prompt":"x","n":2})"), {completion("12"), completion("13", 1)});
  EXPECT_EQ(at(json, {"choices", "1", "index"}), "1");
  EXPECT_EQ(at(json, {"choices", "1", "text"}), "\"13\"");
  EXPECT_EQ(at(json, {"usage", "prompt_tokens"}), "5");
  EXPECT_EQ(at(json, {"usage", "cached_tokens"}), "2");
  EXPECT_EQ(at(json, {"x", "choices", "1"}), R"({"index":1,"seed":10})");
}

TEST_F(Rows, SayWhatStoppedACompletion) {
  Completion c = completion("12");
  c.finished.ended_by_eos = false;
  c.finished.tokens = tokenizer_.encode("12");
  c.finished.tokens.push_back(7);
  c.finished.stop_token = 7;
  const Json token = row(prompt(R"({"prompt":"x"})"), {c});
  EXPECT_EQ(at(token, {"stop_reason"}), "7");
  EXPECT_EQ(at(token, {"text"}), "\"12\"");
  c.finished.stop_token.reset();
  c.finished.stop_string = "\n";
  EXPECT_EQ(at(row(prompt(R"({"prompt":"x"})"), {c}), {"stop_reason"}), R"("\n")");
  c.finished.reason = FinishReason::kRepetition;
  EXPECT_EQ(at(row(prompt(R"({"prompt":"x"})"), {c}), {"finish_reason"}), "\"repetition\"");
}

TEST_F(Rows, OfAnOpenAiChatKeepTheirFormat) {
  const Json json = row(chat(), {completion("so</think>12")}, thinking_);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.members) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"id", "custom_id", "response", "error", "x", "timing"}));
  EXPECT_EQ(at(json, {"id"}).substr(0, 11), "\"batch_req_");
  EXPECT_EQ(at(json, {"response", "status_code"}), "200");
  EXPECT_EQ(at(json, {"response", "body", "id"}).substr(0, 10), "\"chatcmpl-");
  EXPECT_EQ(at(json, {"response", "body", "object"}), "\"chat.completion\"");
  EXPECT_EQ(at(json, {"response", "body", "created"}), "1760000000");
  EXPECT_EQ(at(json, {"response", "body", "model"}), "\"tiny\"");
  EXPECT_EQ(at(json, {"response", "body", "choices"}),
            R"([{"index":0,"message":{"role":"assistant","content":"12","reasoning_content":"so","tool_calls":[]},)"
            R"("logprobs":null,"finish_reason":"stop","stop_reason":null}])");
  const size_t reasoning = tokenizer_.encode("so").size() + 1, all = tokenizer_.encode("so</think>12").size() + 1;
  EXPECT_EQ(at(json, {"response", "body", "usage"}),
            R"({"prompt_tokens":5,"completion_tokens":)" + std::to_string(all) + R"(,"total_tokens":)" +
                std::to_string(5 + all) + R"(,"prompt_tokens_details":{"cached_tokens":2},)" +
                R"("completion_tokens_details":{"reasoning_tokens":)" + std::to_string(reasoning) + "}}");
  EXPECT_EQ(row(chat(), {completion("so</think>12")}, thinking_).dump(), json.dump());
}

TEST_F(Rows, OfAnOpenAiCompletionCountEachPromptOnce) {
  const Prompt p =
      prompt(R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":["x","y"],"n":2}})");
  const Json json = row(p, {completion("1"), completion("2", 1), completion("3", 2), completion("4", 3)});
  EXPECT_EQ(at(json, {"response", "body", "object"}), "\"text_completion\"");
  EXPECT_EQ(at(json, {"response", "body", "choices", "3", "text"}), "\"4\"");
  EXPECT_EQ(at(json, {"response", "body", "usage", "prompt_tokens"}), "10");
}

TEST_F(Rows, CallToolsOnlyWhenTheTurnEnded) {
  Completion c = completion("");
  c.finished.text = "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>";
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  const Json json = row(chat(tools), {c});
  EXPECT_EQ(at(json, {"response", "body", "choices", "0", "finish_reason"}), "\"tool_calls\"");
  EXPECT_EQ(at(json, {"response", "body", "choices", "0", "message", "tool_calls", "0", "function", "name"}), "\"f\"");
  c.finished.ended_by_eos = false;
  c.finished.reason = FinishReason::kLength;
  EXPECT_EQ(at(row(chat(tools), {c}), {"response", "body", "choices", "0", "finish_reason"}), "\"length\"");
}

TEST_F(Rows, ShowLogprobsInBothForms) {
  Completion c = completion("");
  c.finished.tokens = {tokenizer_.encode("a").at(0), 1};
  const std::string a = tokenizer_.decode({c.finished.tokens[0]});
  c.logprobs = {{.logprob = -0.5, .top = {{c.finished.tokens[0], -0.5}}}, {.logprob = -9999, .top = {}}};
  const Json of_chat = row(chat(R"(,"logprobs":true,"top_logprobs":1)"), {c});
  EXPECT_EQ(at(of_chat, {"response", "body", "choices", "0", "logprobs", "content", "0"}),
            R"({"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[{"token":"a","logprob":-0.5,"bytes":[97]}]})");
  const Json of_text = row(prompt(R"({"custom_id":"a","method":"POST","url":"/v1/completions",)"
                                  R"("body":{"prompt":"x","logprobs":1}})"),
                           {c});
  EXPECT_EQ(at(of_text, {"response", "body", "choices", "0", "logprobs"}),
            R"({"tokens":["a","<｜end▁of▁sentence｜>"],"token_logprobs":[-0.5,-9999],)"
            R"("top_logprobs":[{"a":-0.5},{"<｜end▁of▁sentence｜>":-9999}],"text_offset":[0,1]})");
}

TEST_F(Rows, OfErrorsHaveTheFormOfTheirLine) {
  const ItemError error{"context_length_exceeded", "too long", 10, 12, "prompt"};
  EXPECT_EQ(error_row(prompt(R"({"id":4,"prompt":"x"})"), error, PromptForm::kGenerate, kHash).dump(),
            R"({"id":4,"line":3,"text":null,"token_ids":null,"finish_reason":null,"usage":null,"timing":null,)"
            R"("x":{"input_hash":"0123456789abcdef"},)"
            R"("error":{"code":"context_length_exceeded","message":"too long","line":3,"limit":10,"got":12}})");
  const Json json = error_row(chat(), error, PromptForm::kGenerate, kHash);
  EXPECT_EQ(at(json, {"custom_id"}), "\"a\"");
  EXPECT_EQ(at(json, {"response", "status_code"}), "400");
  EXPECT_EQ(at(json, {"response", "body"}), "null");
  EXPECT_EQ(at(json, {"error"}), R"({"code":"context_length_exceeded","message":"too long","line":3,"limit":10,)"
                                 R"("got":12,"type":"invalid_request_error","param":"prompt"})");
  EXPECT_EQ(at(json, {"x"}), R"({"input_hash":"0123456789abcdef"})");
}

}  // namespace
}  // namespace octet
