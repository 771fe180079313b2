// Key order is part of the format: the same in every row.
#include "engine/rows.h"

#include <cmath>
#include <utility>

#include "engine/row_parts.h"

namespace octet {
namespace {

Json row_head(const Prompt& prompt) {
  constexpr size_t kMembers = 12;  // of the longest row
  Json row = Json::object();
  row.members.reserve(kMembers);
  row.set("id", prompt.id);
  row.set("line", prompt.line);
  return row;
}

Json usage(const TokenSums& sums) {
  Json object = Json::object();
  object.members.reserve(3);
  object.set("prompt_tokens", sums.prompt);
  object.set("completion_tokens", sums.completion);
  object.set("cached_tokens", sums.cached);
  return object;
}

/// Appends what a native row says of one completion.
void set_answer(Json& row, const Prompt& prompt, const Completion& completion, const Answer& answer,
                const Tokenizer* tokenizer) {
  Json ids = Json::array();
  ids.items.reserve(completion.finished.tokens.size());
  for (const TokenId token : completion.finished.tokens) ids.push(token);
  row.set(prompt.is_chat() ? "message" : "text", prompt.is_chat() ? answer.message : answer.text);
  row.set("token_ids", std::move(ids));
  row.set("finish_reason", answer.finish_reason);
  if (!answer.stop_reason.is(Json::Kind::kNull)) row.set("stop_reason", answer.stop_reason);
  if (prompt.logprobs) row.set("logprobs", chat_logprobs(completion, tokenizer));
}

}  // namespace

Json completion_row(const Prompt& prompt, const ChatProvenance& provenance, std::span<const Completion> choices,
                    std::string_view input_hash, const RowContext& context) {
  std::vector<Answer> answers;
  answers.reserve(choices.size());
  for (const Completion& c : choices) {
    answers.push_back(answer_of(prompt, provenance, c, input_hash, context.tokenizer));
  }
  if (prompt.is_openai()) return openai_row(prompt, provenance, choices, answers, input_hash, context);

  Json row = row_head(prompt);
  if (choices.size() == 1) {
    set_answer(row, prompt, choices[0], answers[0], context.tokenizer);
  } else {
    Json list = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      Json& own = list.push(Json::object({{"index", choices[i].finished.choice}}));
      set_answer(own, prompt, choices[i], answers[i], context.tokenizer);
    }
    row.set("choices", std::move(list));
  }
  row.set("usage", usage(token_sums(prompt, choices)));
  row.set("timing", timing_object(choices));
  row.set("x", x_object(prompt, provenance, choices, answers, input_hash));
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
  row.set("usage",
          usage({.prompt = std::ssize(*prompt.inputs.front().tokens), .completion = std::ssize(prompt.continuation)}));
  row.set("timing", timing_object(timing));
  row.set("error", nullptr);
  return row;
}

ItemError not_finite_error() {
  return {.code = "internal",
          .message = "its logits are not finite (NaN or infinity): no token follows from them",
          .limit = {},
          .got = {}};
}

Json error_row(const Prompt& prompt, const ItemError& error, PromptForm form, std::string_view input_hash) {
  if (prompt.is_openai()) return openai_error_row(prompt, error, input_hash);
  const bool score = form == PromptForm::kScore;
  const char* answer = prompt.is_chat() ? "message" : "text";
  const std::vector<const char*> keys =
      score ? std::vector<const char*>{"logprobs", "greedy", "sum_logprob", "usage", "timing"}
            : std::vector<const char*>{answer, "token_ids", "finish_reason", "usage", "timing"};
  Json row = row_head(prompt);
  for (const char* key : keys) row.set(key, nullptr);
  if (!score) row.set("x", Json::object({{"input_hash", input_hash}}));
  row.set("error", error_object(prompt, error));
  return row;
}

}  // namespace octet
