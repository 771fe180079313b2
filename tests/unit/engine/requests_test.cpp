// From lines to requests: limits, BOS, and where sampling values come from.
#include "engine/requests.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

class Requests : public ::testing::Test {
 protected:
  std::variant<ItemRequests, ItemError> generate(const std::string& line, PromptForm form = PromptForm::kGenerate) {
    const Prompt prompt = parse_prompt(line, 1, form);
    EXPECT_FALSE(prompt.error) << prompt.error->message;
    return generate_requests(prompt, 0, limits_, options_, defaults_);
  }
  ItemRequests item(const std::string& line) {
    const auto made = generate(line);
    if (const ItemError* error = std::get_if<ItemError>(&made)) ADD_FAILURE() << error->message;
    return std::holds_alternative<ItemRequests>(made) ? std::get<ItemRequests>(made) : ItemRequests{{Request{}}, {}};
  }
  Request request(const std::string& line) { return item(line).requests.at(0); }
  ItemError error(const std::string& line, PromptForm form = PromptForm::kGenerate) {
    const auto made = generate(line, form);
    EXPECT_TRUE(std::holds_alternative<ItemError>(made));
    return std::holds_alternative<ItemError>(made) ? std::get<ItemError>(made) : ItemError{};
  }
  std::variant<Request, ItemError> score(const std::string& line, std::optional<int64_t> split) {
    ScoreOptions options;
    options.split = split;
    return score_request(parse_prompts(line, PromptForm::kScore).at(0), 0, limits_, options);
  }

  const Tokenizer tokenizer_ = Tokenizer::from_dir(test::data_path("tiny-words"));
  RequestLimits limits_{.tokenizer = &tokenizer_, .vocab_size = 1014, .max_seq_len = 10, .bos = 0};
  RequestOptions options_;
  SamplingDefaults defaults_;
};

TEST_F(Requests, PrependBosToTextThatHasNone) {
  const std::vector<TokenId> plain = tokenizer_.encode("12 plums");
  std::vector<TokenId> with_bos = plain;
  with_bos.insert(with_bos.begin(), 0);
  const std::string bos(tokenizer_.token_bytes(0, /*skip_special=*/false));
  EXPECT_EQ(request(R"({"prompt":"12 plums"})").tokens, with_bos);
  EXPECT_EQ(request("{\"prompt\":\"" + bos + "12 plums\"}").tokens, with_bos);
  options_.bos = Bos::kNever;
  EXPECT_EQ(request(R"({"prompt":"12 plums"})").tokens, plain);
}

TEST_F(Requests, TakeTokenIdsAsTheyAre) {
  EXPECT_EQ(request(R"({"prompt_token_ids":[7,8]})").tokens, (std::vector<TokenId>{7, 8}));
}

TEST_F(Requests, LimitTheCompletionToTheContext) {
  EXPECT_EQ(request(R"({"prompt_token_ids":[7,8]})").max_new_tokens, 8);
  EXPECT_EQ(request(R"({"prompt_token_ids":[7,8],"max_tokens":100})").max_new_tokens, 8);
  EXPECT_EQ(request(R"({"prompt_token_ids":[7,8],"max_tokens":3})").max_new_tokens, 3);
  options_.max_tokens = 2;
  EXPECT_EQ(request(R"({"prompt_token_ids":[7,8]})").max_new_tokens, 2);
  EXPECT_EQ(request(R"({"prompt_token_ids":[7,8],"max_tokens":3})").max_new_tokens, 3);
}

TEST_F(Requests, RefuseAPromptThatFillsTheContext) {
  EXPECT_EQ(request(R"({"prompt_token_ids":[1,2,3,4,5,6,7,8,9]})").max_new_tokens, 1);
  const ItemError e = error(R"({"prompt_token_ids":[1,2,3,4,5,6,7,8,9,10]})");
  EXPECT_EQ(e.code, "context_length_exceeded");
  EXPECT_EQ(e.limit, 10);
  EXPECT_EQ(e.got, 10);
}

TEST_F(Requests, RefuseATokenOutsideTheVocabulary) {
  EXPECT_EQ(error(R"({"prompt_token_ids":[1,1014]})").message, "token id 1014 is outside the vocabulary of 1014");
}

TEST_F(Requests, NeedATokenizerForTextAndStopStrings) {
  limits_.tokenizer = nullptr;
  EXPECT_EQ(error(R"({"prompt":"a"})").code, "invalid_request");
  EXPECT_EQ(error(R"({"prompt_token_ids":[1],"stop":"a"})").code, "invalid_request");
  EXPECT_EQ(request(R"({"prompt_token_ids":[1]})").tokens.size(), 1u);
}

TEST_F(Requests, RefuseTextThatIsNotUtf8UnlessToldToReplaceIt) {
  const ItemError text = error("a\xff", PromptForm::kText);
  EXPECT_EQ(text.code + ": " + text.message, "invalid_request: line 1 is not valid UTF-8: byte 1 is no UTF-8");
  EXPECT_EQ(error("{\"prompt\":\"a\xff\"}").code, "invalid_json");
  EXPECT_EQ(error(R"({"prompt":"a\ud800"})").message, "line 1 is not valid UTF-8: \\ud800 is half of a surrogate pair");
  options_.replace_invalid_utf8 = true;
  const std::vector<TokenId> replaced = request("{\"prompt\":\"a\xef\xbf\xbd\"}").tokens;
  EXPECT_EQ(request("{\"prompt\":\"a\xff\"}").tokens, replaced);
  EXPECT_EQ(request(R"({"prompt":"a\ud800"})").tokens, replaced);
}

TEST_F(Requests, MakeEverySampleOfEveryPrompt) {
  const ItemRequests made = item(R"({"custom_id":"a","method":"POST","url":"/v1/completions",)"
                                 R"("body":{"prompt":[[7,8],[9]],"n":2,"seed":18446744073709551615,"logprobs":3,)"
                                 R"("stop_token_ids":[4]}})");
  ASSERT_EQ(made.requests.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const Request& r = made.requests[i];
    EXPECT_EQ(r.choice, static_cast<int32_t>(i));
    EXPECT_EQ(r.tokens, i < 2 ? (std::vector<TokenId>{7, 8}) : (std::vector<TokenId>{9}));
    EXPECT_EQ(r.sampling.seed, i % 2 == 0 ? 18446744073709551615u : 0u) << "the seed wraps";
    EXPECT_EQ(r.max_new_tokens, i < 2 ? 8 : 9);
    EXPECT_EQ(r.logprobs, 3);
    EXPECT_EQ(r.stop_token_ids, std::vector<TokenId>{4});
  }
}

TEST_F(Requests, LetALineDecideAboutItsBos) {
  const std::vector<TokenId> plain = tokenizer_.encode("12 plums");
  EXPECT_EQ(request(R"({"prompt":"12 plums","add_special_tokens":false})").tokens, plain);
  options_.bos = Bos::kNever;
  EXPECT_EQ(request(R"({"prompt":"12 plums","add_special_tokens":true})").tokens.size(), plain.size() + 1);
}

TEST_F(Requests, TakeTheServedModelAlone) {
  limits_.model = "tiny";
  EXPECT_EQ(request(R"({"prompt_token_ids":[1],"model":"tiny"})").tokens.size(), 1u);
  EXPECT_NE(error(R"({"prompt_token_ids":[1],"model":"huge"})").message.find("expected \"tiny\""), std::string::npos);
  options_.ignore_model = true;
  EXPECT_EQ(request(R"({"prompt_token_ids":[1],"model":"huge"})").tokens.size(), 1u);
}

TEST_F(Requests, WarnOfAnUnknownKeyOnceAndRefuseItWhenStrict) {
  std::set<std::string> warned;
  limits_.warned = &warned;
  const std::string line = R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":[7],"usr":1}})";
  request(line);
  request(line);
  EXPECT_EQ(warned, std::set<std::string>{"\"usr\""});
  request(R"({"custom_id":"b","method":"POST","url":"/v1/completions","body":{"prompt":[7],"user":"me"}})");
  EXPECT_EQ(warned.size(), 1u) << "whom to bill says nothing of the answer";
  options_.strict = true;
  EXPECT_EQ(error(line).message, "unknown key \"usr\"");
}

TEST_F(Requests, RefuseAStopTokenOutsideTheVocabulary) {
  EXPECT_EQ(error(R"({"prompt_token_ids":[1],"stop_token_ids":[1014]})").param, "stop_token_ids");
}

TEST_F(Requests, ScoreWithAnySplitOfTheirTokens) {
  const std::string line = R"({"prompt_token_ids":[1,2],"continuation_token_ids":[3]})";
  EXPECT_EQ(std::get<Request>(score(line, {})).prefill_tokens, 2);
  EXPECT_EQ(std::get<Request>(score(line, 1)).prefill_tokens, 1);
  EXPECT_EQ(std::get<Request>(score(line, 3)).prefill_tokens, 3);
  EXPECT_EQ(std::get<ItemError>(score(line, 4)).code, "invalid_request");
}

TEST_F(Requests, ScoreUpToTheContext) {
  const std::string nine = R"({"prompt_token_ids":[1,2,3,4,5],"continuation_token_ids":[1,2,3,4,5]})";
  const std::string ten = R"({"prompt_token_ids":[1,2,3,4,5],"continuation_token_ids":[1,2,3,4,5,6]})";
  EXPECT_TRUE(std::holds_alternative<Request>(score(nine, {})));
  EXPECT_EQ(std::get<ItemError>(score(ten, {})).got, 11);
}

TEST(Sampling, TakesTheLineThenTheFlagThenTheModel) {
  const test::TempFolder folder;
  test::write_file(folder.file("generation_config.json"), R"({"do_sample":true,"temperature":0.6,"top_p":0.95})");
  RequestOptions flags;
  flags.top_p = 0.5;
  const SamplingDefaults defaults = with_flags(read_generation_config(folder.path()), flags);
  Prompt prompt;
  prompt.top_k = 7;
  prompt.min_p = 0.25;
  prompt.repetition_penalty = 1.5;
  prompt.presence_penalty = -1;
  prompt.frequency_penalty = 0.5;
  const ops::SampleParams params = sampling_of(prompt, defaults, 0);
  EXPECT_EQ(params.min_p, 0.25f);
  EXPECT_EQ(params.repetition_penalty, 1.5f);
  EXPECT_EQ(params.presence_penalty, -1);
  EXPECT_EQ(params.frequency_penalty, 0.5f);
  EXPECT_EQ(params.temperature, 0.6f);
  EXPECT_EQ(params.top_p, 0.5f);
  EXPECT_EQ(params.top_k, 7);
}

TEST(Sampling, IsGreedyWhenTheModelDoesNotAskForSampling) {
  const test::TempFolder folder;
  EXPECT_EQ(read_generation_config(folder.path()).temperature, 0);
  test::write_file(folder.file("generation_config.json"), R"({"do_sample":false,"temperature":1.0})");
  EXPECT_EQ(read_generation_config(folder.path()).temperature, 0);
}

TEST(Sampling, RefusesABrokenGenerationConfig) {
  const test::TempFolder folder;
  test::write_file(folder.file("generation_config.json"), R"({"do_sample":true,"top_p":2})");
  EXPECT_THROW(read_generation_config(folder.path()), Error);
}

TEST(Sampling, DerivesSeedsFromTheIdAlone) {
  EXPECT_EQ(derived_seed(7, "a"), derived_seed(7, "a"));
  EXPECT_NE(derived_seed(7, "a"), derived_seed(7, "b"));
  EXPECT_NE(derived_seed(7, "a"), derived_seed(8, "a"));
}

TEST(PagesWanted, CountsTheLargestRequests) {
  std::vector<Request> requests(3);
  requests[0].max_new_tokens = 1024;
  requests[1].max_new_tokens = 3000;
  requests[2].max_new_tokens = 1025;
  EXPECT_EQ(pages_wanted(requests, 2), 5);
  EXPECT_EQ(pages_wanted(requests, 16), 6);
}

}  // namespace
}  // namespace octet
