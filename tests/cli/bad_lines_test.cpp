// The zoo of bad lines: each becomes a row that says what is wrong with it, and the good lines between them are
// answered as if the bad ones were not there.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

struct BadLine {
  std::string line, code, message;  // a piece of the message
};

/// A line of a batch file.
std::string post(const std::string& id, const std::string& url, const std::string& body) {
  return R"({"custom_id":")" + id + R"(","method":"POST","url":"/v1/)" + url + R"(","body":{)" + body + "}}";
}

std::string chat(const std::string& id, const std::string& more) {
  return post(id, "chat/completions", R"("messages":[{"role":"user","content":"1 + 1?"}],)" + more);
}

std::string completion(const std::string& id, const std::string& more) {
  return post(id, "completions", R"("prompt":"1 + 1",)" + more);
}

std::string long_prompt() {
  std::string ids = "5";
  for (int i = 0; i < 300; ++i) ids += ",5";
  return R"({"id":"long","prompt_token_ids":[)" + ids + "]}";
}

std::vector<BadLine> zoo() {
  return {
      {R"({"id":"b1","prompt":)", "invalid_json", "invalid JSON"},
      {R"({"id":"b2","prompt":"x"}})", "invalid_json", "invalid JSON"},
      {R"({"id":"b3","prompt":"x","prompt":"y"})", "invalid_json", "twice"},
      {"{\"id\":\"b4\",\"prompt\":\"x\xff\"}", "invalid_json", "not valid UTF-8"},
      {R"({"id":"b5","prompt":"\ud800"})", "invalid_json", "surrogate"},
      {std::string(300, '['), "invalid_json", "nested"},
      {"NaN", "invalid_json", "invalid JSON"},
      {"\"x\"", "invalid_request", "expected an object"},
      {"[]", "invalid_request", "expected an object"},
      {"{}", "invalid_request", "prompt or prompt_token_ids is missing"},
      {R"({"id":"b6","prompt":""})", "invalid_request", "the prompt is empty"},
      {R"({"id":"b7","prompt":7})", "invalid_request", "prompt: expected a string"},
      {R"({"id":"b8","prompt_token_ids":[1,-1]})", "invalid_request", "a list of token ids"},
      {R"({"id":"b9","prompt_token_ids":[999999]})", "invalid_request", "outside the vocabulary"},
      {R"({"id":"b10","prompt":"x","prompt_token_ids":[1]})", "invalid_request", "exclude each other"},
      {R"({"id":"b11","prompt":"x","promt":1})", "invalid_request", "unknown key"},
      {R"({"id":"b12","prompt":"x","max_tokens":0})", "invalid_request", "at least 1"},
      {R"({"id":"b13","prompt":"x","temperature":-1})", "invalid_request", "temperature"},
      {R"({"id":"b14","prompt":"x","top_p":0})", "invalid_request", "top_p"},
      {R"({"id":"b15","prompt":"x","min_p":2})", "invalid_request", "min_p"},
      {R"({"id":"b16","prompt":"x","repetition_penalty":0})", "invalid_request", "repetition_penalty"},
      {R"({"id":"b17","prompt":"x","n":0})", "invalid_request", "n: expected"},
      {R"({"id":"b18","prompt":"x","seed":-1})", "invalid_request", "seed"},
      {R"({"id":"b19","prompt":"x","stop":[""]})", "invalid_request", "stop"},
      {R"({"id":"b20","prompt":"x","stop_token_ids":[999999]})", "invalid_request", "stop_token_ids"},
      {R"({"id":"b21","prompt":"x","logprobs":21})", "invalid_request", "logprobs"},
      {R"({"id":"b22","prompt":"x","tools":[]})", "invalid_request", "needs messages"},
      {R"({"id":"b23","prompt":"x","logit_bias":{"5":1}})", "unsupported", "logit_bias"},
      {R"({"id":{},"prompt":"x"})", "invalid_request", "id: expected"},
      {R"({"id":"good-0","prompt":"x"})", "duplicate_custom_id", "earlier line"},
      {R"({"id":"b24","messages":[]})", "invalid_request", "messages"},
      {R"({"id":"b25","messages":[{"role":"wizard","content":"x"}]})", "invalid_request", "messages[0]"},
      {R"({"id":"b26","messages":[{"role":"user","content":[{"type":"image_url"}]}]})", "invalid_request", "text"},
      {long_prompt(), "context_length_exceeded", "301 tokens"},
      {R"({"custom_id":"c1","method":"POST","url":"/v1/completions"})", "invalid_request", "body is missing"},
      {R"({"custom_id":"c2","method":"GET","url":"/v1/completions","body":{}})", "invalid_request", "method"},
      {R"({"custom_id":7,"method":"POST","url":"/v1/completions","body":{}})", "invalid_request", "custom_id"},
      {post("c3", "embeddings", R"("input":"x")"), "unsupported", "url"},
      {completion("c4", R"("stream":true)"), "unsupported", "stream"},
      {completion("c5", R"("echo":true)"), "unsupported", "echo"},
      {completion("c6", R"("model":"another")"), "invalid_request", "model"},
      {chat("c7", R"("reasoning_effort":"hard")"), "invalid_request", "reasoning_effort"},
      {chat("c8", R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required")"), "unsupported",
       "tool_choice"},
      {chat("c9", R"("top_logprobs":3)"), "invalid_request", "logprobs: true"},
      {R"({"custom_id":"c10","method":"POST",)", "invalid_json", "invalid JSON"},
  };
}

std::vector<std::string> good_lines() {
  return {R"({"id":"good-0","prompt":"Question: 1 + 1?\nAnswer:"})", chat("good-1", R"("max_completion_tokens":3)"),
          R"({"id":"good-2","messages":[{"role":"user","content":"1 + 1?"}],"n":1})",
          completion("good-3", R"("temperature":1.5,"min_p":0.1,"logit_bias":{},"stream":false)")};
}

std::vector<Json> rows_of(const std::string& text) {
  std::vector<Json> rows;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    rows.push_back(parse_json(text.substr(at, end - at), "a row"));
    at = end + 1;
  }
  return rows;
}

/// What is the same whenever and wherever in the file the line runs.
std::string lasting(Json row) {
  std::erase_if(row.members, [](const auto& m) { return m.first == "timing" || m.first == "line"; });
  std::string text = row.dump();
  const size_t created = text.find("\"created\":");
  if (created != text.npos) text.erase(created, text.find(',', created) - created);
  return text;
}

std::string word(const Json& object, const char* key) {
  const Json* found = object.find(key);
  return found ? found->text : "";
}

class BadLines : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<BadLine> bad = zoo();
    std::string mixed, good;
    for (size_t i = 0; i < bad.size(); ++i) {
      if (i % 12 == 0) mixed += good_lines().at(i / 12) + "\n";
      mixed += bad[i].line + "\n";
    }
    for (const std::string& line : good_lines()) good += line + "\n";
    write_file(folder_.file("mixed.jsonl"), mixed);
    write_file(folder_.file("good.jsonl"), good);
  }
  std::string arguments(const std::string& command, const std::string& name) const {
    return command + " -m " + data_path("tiny-words") + " -i " + folder_.file(name + ".jsonl") + " -o " +
           folder_.file(command + "-" + name) + " --max-tokens 2 --encoding 0731";
  }
  std::vector<Json> rows(const std::string& command, const std::string& name) const {
    return rows_of(read_file(folder_.file(command + "-" + name)));
  }
  void expect_errors(const std::vector<Json>& all) const {
    const std::vector<BadLine> bad = zoo();
    ASSERT_EQ(all.size(), bad.size() + good_lines().size());
    for (size_t i = 0; i < bad.size(); ++i) {
      const size_t line = i + i / 12 + 1;  // from 0, good lines before each dozen
      const Json* error = all[line].find("error");
      ASSERT_TRUE(error) << bad[i].line;
      EXPECT_EQ(word(*error, "code"), bad[i].code) << bad[i].line;
      EXPECT_NE(word(*error, "message").find(bad[i].message), std::string::npos) << all[line].dump();
      EXPECT_EQ(error->find("line")->as_int(), static_cast<int64_t>(line) + 1);
    }
  }

  TempFolder folder_;
};

TEST_F(BadLines, HarmNoOther) {
  const Outcome mixed = octet_alone(arguments("generate", "mixed") + " --max-seq-len 300");
  EXPECT_EQ(mixed.code, 3) << mixed.err;
  const Outcome good = octet_alone(arguments("generate", "good") + " --max-seq-len 300");
  ASSERT_EQ(good.code, 0) << good.err;

  const std::vector<Json> all = rows("generate", "mixed"), alone = rows("generate", "good");
  expect_errors(all);
  ASSERT_EQ(alone.size(), good_lines().size());
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(lasting(all.at(13 * i)), lasting(alone[i]));
}

TEST_F(BadLines, AnswerABatchLineInItsForm) {
  ASSERT_EQ(octet_alone(arguments("generate", "mixed") + " --max-seq-len 300").code, 3);
  for (const Json& row : rows("generate", "mixed")) {
    const Json* error = row.find("error");
    if (!row.find("custom_id")) continue;
    const bool failed = error && !error->is(Json::Kind::kNull);
    EXPECT_EQ(row.find("response")->find("status_code")->as_int(), failed ? 400 : 200) << row.dump();
    EXPECT_EQ(error ? word(*error, "type") : "", failed ? "invalid_request_error" : "");
    EXPECT_TRUE(row.find("x")->find("input_hash")) << row.dump();
  }
}

TEST_F(BadLines, AreRenderedAsTheSameErrors) {
  const std::string long_one = long_prompt();
  const Outcome outcome = octet_alone(arguments("render", "mixed"));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  const std::vector<Json> all = rows("render", "mixed");
  const std::vector<BadLine> bad = zoo();
  ASSERT_EQ(all.size(), bad.size() + good_lines().size());
  for (size_t i = 0; i < bad.size(); ++i) {
    const Json& row = all[i + i / 12 + 1];
    const std::string code = bad[i].line == long_one ? "" : bad[i].code;  // it fits the model, whose limit counts here
    EXPECT_EQ(word(*row.find("error"), "code"), code) << row.dump();
  }
}

TEST(Render, ShowsTheTextAndTheTokensOfEachPrompt) {
  const TempFolder folder;
  write_file(folder.file("in.jsonl"),
             good_lines()[2] + "\n" + post("p", "completions", R"("prompt":["12",[5,6]],"n":2)") + "\n");
  const Outcome outcome = octet_alone("render -m " + data_path("tiny-words") + " -i " + folder.file("in.jsonl") +
                                      " --encoding v4 --thinking thinking --reasoning-effort low");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<Json> all = rows_of(outcome.out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(word(all[0], "text"), "<｜begin▁of▁sentence｜><｜User｜>1 + 1?<｜Assistant｜><think>");
  EXPECT_EQ(word(all[0], "encoding"), "v4");
  EXPECT_EQ(word(all[0], "thinking"), "thinking");
  EXPECT_EQ(word(all[0], "reasoning_effort"), "low");
  EXPECT_EQ(word(all[0], "prompt_sha256").size(), 64u);
  EXPECT_EQ(all[0].find("prompt_tokens")->as_int(), std::ssize(all[0].find("token_ids")->items));
  ASSERT_EQ(all[1].find("prompts")->items.size(), 2u);
  EXPECT_EQ(word(all[1].find("prompts")->items[0], "text"), "<｜begin▁of▁sentence｜>12");
  EXPECT_EQ(all[1].find("prompts")->items[1].find("token_ids")->dump(), "[5,6]");
}

TEST(Render, KeepsAnExistingOutput) {
  const TempFolder folder;
  write_file(folder.file("in.jsonl"), good_lines()[0] + "\n");
  write_file(folder.file("out.jsonl"), "kept\n");
  const std::string arguments =
      "render -m " + data_path("tiny-words") + " -i " + folder.file("in.jsonl") + " -o " + folder.file("out.jsonl");
  EXPECT_EQ(octet_alone(arguments).code, 2);
  EXPECT_EQ(read_file(folder.file("out.jsonl")), "kept\n");
  EXPECT_EQ(octet_alone(arguments + " --force").code, 0);
}

}  // namespace
}  // namespace octet::test
