// Key order is part of the format: the same in every row.
#include "engine/rows.h"

#include <cmath>
#include <utility>

namespace octet {
namespace {

Json row_head(const Prompt& prompt) {
  return Json::object({{"id", prompt.id}, {"line", prompt.line}});
}

Json usage(int64_t prompt_tokens, int64_t completion_tokens) {
  return Json::object(
      {{"prompt_tokens", prompt_tokens}, {"completion_tokens", completion_tokens}, {"cached_tokens", 0}});
}

Json milliseconds(int64_t us) {
  return static_cast<double>(us) / 1000;
}

Json timing_object(const Timing& t) {
  return Json::object({{"queue_ms", milliseconds(t.queue_us)},
                       {"prefill_ms", milliseconds(t.prefill_us)},
                       {"ttft_ms", milliseconds(t.ttft_us())},
                       {"ttft_sched_ms", milliseconds(t.prefill_us)},
                       {"decode_ms", milliseconds(t.decode_us)},
                       {"total_ms", milliseconds(t.total_us())}});
}

/// The text of a completion that no stop string cut.
std::string decoded(const Finished& finished, const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens = finished.tokens;
  if (finished.ended_by_eos) tokens.pop_back();
  std::erase_if(tokens, [&](TokenId t) { return t >= tokenizer.vocab_size(); });  // padding of the model's vocabulary
  return tokenizer.decode(tokens);
}

}  // namespace

Json completion_row(const Prompt& prompt, const Finished& finished, const Timing& timing, const Tokenizer* tokenizer) {
  Json text = nullptr;
  if (tokenizer) text = finished.text ? *finished.text : decoded(finished, *tokenizer);
  Json ids = Json::array();
  for (const TokenId token : finished.tokens) ids.push(token);
  Json row = row_head(prompt);
  row.set("text", std::move(text));
  row.set("token_ids", std::move(ids));
  row.set("finish_reason", finished.reason == FinishReason::kStop ? "stop" : "length");
  row.set("usage", usage(finished.prompt_tokens, static_cast<int64_t>(finished.tokens.size())));
  row.set("timing", timing_object(timing));
  row.set("x", Json::object({{"seed", finished.seed}}));
  row.set("error", nullptr);
  return row;
}

Json score_row(const Prompt& prompt, const Score& score, const Timing& timing) {
  constexpr double kLogOfZero = -9999;  // JSON has no infinity
  Json logprobs = Json::array(), greedy = Json::array();
  double sum = 0;
  for (const double exact : score.logprobs) {
    const double shown = std::isinf(exact) ? kLogOfZero : exact;
    logprobs.push(shown);
    sum += shown;
  }
  for (const bool g : score.greedy) greedy.push(g);
  Json row = row_head(prompt);
  row.set("logprobs", std::move(logprobs));
  row.set("greedy", std::move(greedy));
  row.set("sum_logprob", sum);
  row.set("usage", usage(static_cast<int64_t>(prompt.inputs.front().tokens->size()),
                         static_cast<int64_t>(prompt.continuation.size())));
  row.set("timing", timing_object(timing));
  row.set("error", nullptr);
  return row;
}

Json error_row(const Prompt& prompt, const ItemError& error, PromptForm form) {
  Json object = Json::object({{"code", error.code}, {"message", error.message}, {"line", prompt.line}});
  if (error.limit) object.set("limit", *error.limit);
  if (error.got) object.set("got", *error.got);
  Json row = row_head(prompt);
  const std::vector<const char*> keys =
      form == PromptForm::kScore
          ? std::vector<const char*>{"logprobs", "greedy", "sum_logprob", "usage", "timing"}
          : std::vector<const char*>{"text", "token_ids", "finish_reason", "usage", "timing", "x"};
  for (const char* key : keys) row.set(key, nullptr);
  row.set("error", std::move(object));
  return row;
}

}  // namespace octet
