// Lines of OpenAI batch files, and the keys that chats and completions share with native lines.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/prompts.h"
#include "tests/support/random.h"

namespace octet {
namespace {

Prompt native(const std::string& members) {
  return parse_prompt("{" + members + "}", 1, PromptForm::kGenerate);
}

Prompt body(const std::string& url, const std::string& members) {
  return parse_prompt(R"({"custom_id":"a","method":"POST","url":")" + url + R"(","body":{)" + members + "}}", 1,
                      PromptForm::kGenerate);
}

Prompt chat(const std::string& members) {
  return body("/v1/chat/completions", R"("messages":[{"role":"user","content":"hi"}],)" + members);
}

Prompt completion(const std::string& members) {
  return body("/v1/completions", R"("prompt":"a",)" + members);
}

std::string error_of(const Prompt& p) {
  return p.error ? p.error->code + ": " + p.error->message : "";
}

TEST(BatchLines, ReadEveryFieldOfAChat) {
  const Prompt p =
      chat(R"("model":"m","max_tokens":9,"max_completion_tokens":5,"n":2,"temperature":0.5,"top_p":0.9,"top_k":4,)"
           R"("min_p":0.1,"seed":3,"stop":"x","stop_token_ids":[7],"ignore_eos":true,"presence_penalty":1,)"
           R"("frequency_penalty":-1,"repetition_penalty":1.5,"logprobs":true,"top_logprobs":4,"tools":[{"a":1}],)"
           R"("tool_choice":"auto","response_format":{"type":"text"},"continue_final_message":true,)"
           R"("add_generation_prompt":false)");
  EXPECT_EQ(error_of(p), "");
  EXPECT_EQ(p.form, LineForm::kOpenAiChat);
  EXPECT_EQ(p.id.text, "a");
  EXPECT_EQ(p.messages.items.size(), 1u);
  EXPECT_EQ(p.model, "m");
  EXPECT_EQ(p.max_tokens, 5);
  EXPECT_EQ(p.n, 2);
  EXPECT_EQ(p.temperature, 0.5);
  EXPECT_EQ(p.top_p, 0.9);
  EXPECT_EQ(p.top_k, 4);
  EXPECT_EQ(p.min_p, 0.1);
  EXPECT_EQ(p.seed, 3u);
  EXPECT_EQ(p.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(p.stop_token_ids, std::vector<int32_t>{7});
  EXPECT_TRUE(p.ignore_eos);
  EXPECT_EQ(p.presence_penalty, 1);
  EXPECT_EQ(p.frequency_penalty, -1);
  EXPECT_EQ(p.repetition_penalty, 1.5);
  EXPECT_EQ(p.logprobs, 4);
  EXPECT_EQ(p.tools.dump(), R"([{"a":1}])");
  EXPECT_EQ(p.tool_choice.text, "auto");
  EXPECT_TRUE(p.continue_final);
  EXPECT_TRUE(p.unknown_keys.empty());
}

TEST(BatchLines, TakeAPromptAsTextIdsOrListsOfEither) {
  const auto prompts = [](const std::string& value) {
    std::string all;
    for (const PromptInput& input : body("/v1/completions", R"("prompt":)" + value).inputs) {
      all += input.text ? "'" + *input.text + "'" : std::to_string(input.tokens->size());
    }
    return all;
  };
  EXPECT_EQ(prompts(R"("x")"), "'x'");
  EXPECT_EQ(prompts(R"([1,2])"), "2");
  EXPECT_EQ(prompts(R"(["x","y"])"), "'x''y'");
  EXPECT_EQ(prompts(R"([[1],[1,2,3]])"), "13");
  EXPECT_EQ(prompts(R"(["x",[1,2]])"), "'x'2");
}

TEST(BatchLines, TakeTheFirstSourceThatSaysHowToThink) {
  const auto thinks = [](const std::string& members) { return chat(members).thinking == Thinking::kThinking; };
  EXPECT_TRUE(thinks(R"("thinking":{"type":"enabled"},"chat_template_kwargs":{"thinking":false})"));
  EXPECT_TRUE(thinks(R"("chat_template_kwargs":{"enable_thinking":true})"));
  EXPECT_FALSE(thinks(R"("thinking":{"type":"disabled"})"));
  EXPECT_FALSE(chat(R"("n":1)").thinking);
  EXPECT_EQ(chat(R"("chat_template_kwargs":{"reasoning_effort":"max"},"reasoning_effort":"low")").effort, "max");
  EXPECT_EQ(chat(R"("reasoning_effort":"low")").effort, "low");
  EXPECT_EQ(chat(R"("chat_template_kwargs":{"drop_thinking":false})").drop_thinking, false);
}

TEST(BatchLines, CollectUnknownKeys) {
  const Prompt p = chat(R"("usr":1,"chat_template_kwargs":{"mood":"good"})");
  EXPECT_EQ(error_of(p), "");
  EXPECT_EQ(p.unknown_keys, (std::vector<std::string>{"usr", "chat_template_kwargs.mood"}));
}

TEST(BatchLines, TakeUnsupportedKeysWithTheValueThatChangesNothing) {
  for (const char* members : {R"("stream":false)", R"("logit_bias":{})", R"("min_tokens":0)", R"("echo":false)",
                              R"("best_of":1.0)", R"("suffix":"")", R"("prompt_logprobs":null)",
                              R"("response_format":{"type":"text"})", R"("skip_special_tokens":true)"}) {
    EXPECT_EQ(error_of(completion(members)), "") << members;
    EXPECT_TRUE(completion(members).unknown_keys.empty()) << members;
  }
  for (const char* members : {R"("stream":true)", R"("logit_bias":{"1":2})", R"("min_tokens":3)", R"("echo":true)",
                              R"("best_of":2)", R"("suffix":"x")", R"("prompt_logprobs":0)",
                              R"("response_format":{"type":"json_object"})", R"("guided_json":{})"}) {
    const Prompt p = completion(members);
    ASSERT_TRUE(p.error) << members;
    EXPECT_EQ(p.error->code, "unsupported") << members;
    EXPECT_EQ(p.error->param, std::string(members).substr(1, p.error->param.size())) << members;
  }
}

TEST(BatchLines, SayWhatIsWrongWithTheEnvelope) {
  const auto error = [](const std::string& line) { return error_of(parse_prompt(line, 1, PromptForm::kGenerate)); };
  EXPECT_EQ(error(R"({"method":"POST","url":"/v1/completions","body":{}})"), "invalid_request: custom_id is missing");
  EXPECT_EQ(error(R"({"custom_id":"a","url":"/v1/completions","body":{}})"), "invalid_request: method is missing");
  EXPECT_EQ(error(R"({"custom_id":"a","method":"GET","url":"/v1/completions","body":{}})"),
            "invalid_request: method: expected \"POST\", found \"GET\"");
  EXPECT_EQ(error(R"({"custom_id":"a","method":"POST","body":{}})"), "invalid_request: url is missing");
  EXPECT_EQ(error(R"({"custom_id":"a","method":"POST","url":"/v1/x","body":{}})"),
            "unsupported: url: expected /v1/chat/completions or /v1/completions, found \"/v1/x\"");
  EXPECT_EQ(error(R"({"custom_id":"a","method":"POST","url":"/v1/completions"})"), "invalid_request: body is missing");
  EXPECT_EQ(error(R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{}})"),
            "invalid_request: prompt is missing");
}

TEST(BatchLines, GiveAnUnreadableLineTheFormItSeemsToHave) {
  EXPECT_EQ(parse_prompt(R"({"custom_id":"a","body":)", 1, PromptForm::kGenerate).form, LineForm::kOpenAiChat);
  EXPECT_EQ(parse_prompt(R"({"id":"a","prompt":)", 1, PromptForm::kGenerate).form, LineForm::kNative);
}

TEST(NativeLines, TakeMessagesAndTheKeysOfBodies) {
  const Prompt p = native(R"("messages":[{"role":"user","content":"hi"}],"thinking":"thinking","logprobs":2,"n":3)");
  EXPECT_EQ(error_of(p), "");
  EXPECT_EQ(p.form, LineForm::kNative);
  EXPECT_TRUE(p.is_chat());
  EXPECT_EQ(p.thinking, Thinking::kThinking);
  EXPECT_EQ(p.logprobs, 2);
  EXPECT_EQ(p.samples(), 3);
  EXPECT_EQ(error_of(native(R"("prompt":"a","logit_bias":{"1":1})")).substr(0, 11), "unsupported");
}

TEST(NativeLines, RefuseWhatWouldBeIgnored) {
  EXPECT_EQ(error_of(native(R"("prompt":"a","tools":[])")), "invalid_request: tools needs messages");
  EXPECT_EQ(error_of(native(R"("prompt":"a","reasoning_effort":"low")")),
            "invalid_request: reasoning_effort needs messages");
  EXPECT_EQ(error_of(native(R"("prompt":"a","messages":[{}])")),
            "invalid_request: messages and a prompt exclude each other");
}

TEST(Lines, ReplaceLoneSurrogatesAndNothingElse) {
  const auto text = [](const std::string& escaped) { return *native(R"("prompt":")" + escaped + "\"").inputs[0].text; };
  EXPECT_EQ(text(R"(\ud83d\ude00)"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(text(R"(\ud83d\ud83d\ude00)"), "\xef\xbf\xbd\xf0\x9f\x98\x80");
  EXPECT_EQ(text(R"(\ude00x)"), "\xef\xbf\xbdx");
  EXPECT_EQ(text(R"(\\ud800)"), "\\ud800");
  EXPECT_FALSE(native(R"("prompt":"\\ud800")").ill_formed);
  EXPECT_TRUE(native(R"("prompt":"\ud800")").ill_formed);
}

TEST(Lines, NeverThrowWhateverTheyHold) {
  test::Random random(181);
  const std::string start =
      R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":["x\ud83d",[1]]}})";
  for (int i = 0; i < 3000; ++i) {
    std::string line = start;
    for (int64_t cuts = random.integer(1, 4); cuts > 0; --cuts) {
      const auto at = static_cast<size_t>(random.integer(0, std::ssize(line) - 1));
      line[at] = static_cast<char>(random.integer(0, 255));
    }
    const Prompt p = parse_prompt(line, 1, PromptForm::kGenerate);
    EXPECT_TRUE(p.error || p.is_chat() || !p.inputs.empty()) << line;
  }
}

}  // namespace
}  // namespace octet
