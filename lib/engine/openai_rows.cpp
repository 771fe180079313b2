// Rows in the form of OpenAI's batch files, with "x" and "timing" behind what that form has.
#include <string>
#include <utility>

#include "engine/row_parts.h"

namespace octet {
namespace {

Json choice_object(const Prompt& prompt, const Completion& completion, const Answer& answer,
                   const RowContext& context) {
  const bool chat = prompt.form == LineForm::kOpenAiChat;
  Json logprobs;
  if (prompt.logprobs) {
    logprobs = chat ? chat_logprobs(completion, context.tokenizer) : completion_logprobs(completion, context.tokenizer);
  }
  return Json::object(
      {{"index", completion.finished.choice},
       chat ? std::pair{std::string("message"), answer.message} : std::pair{std::string("text"), answer.text},
       {"logprobs", std::move(logprobs)},
       {"finish_reason", answer.finish_reason},
       {"stop_reason", answer.stop_reason}});
}

Json usage_object(const Prompt& prompt, std::span<const Completion> choices, std::span<const Answer> answers) {
  const TokenSums sums = token_sums(prompt, choices);
  int64_t reasoning = 0;
  for (const Answer& answer : answers) reasoning += answer.reasoning_tokens;
  return Json::object({{"prompt_tokens", sums.prompt},
                       {"completion_tokens", sums.completion},
                       {"total_tokens", sums.prompt + sums.completion},
                       {"prompt_tokens_details", Json::object({{"cached_tokens", sums.cached}})},
                       {"completion_tokens_details", Json::object({{"reasoning_tokens", reasoning}})}});
}

Json row_head(const Prompt& prompt, std::string_view input_hash) {
  return Json::object({{"id", "batch_req_" + hex_id(prompt, input_hash, "batch_req")}, {"custom_id", prompt.id}});
}

/// {"status_code","request_id","body"}.
Json response_object(const Prompt& prompt, std::string_view input_hash, int status, Json body) {
  return Json::object(
      {{"status_code", status}, {"request_id", hex_id(prompt, input_hash, "request")}, {"body", std::move(body)}});
}

}  // namespace

Json openai_row(const Prompt& prompt, const ChatProvenance& provenance, std::span<const Completion> choices,
                std::span<const Answer> answers, std::string_view input_hash, const RowContext& context) {
  const bool chat = prompt.form == LineForm::kOpenAiChat;
  Json list = Json::array();
  for (size_t i = 0; i < choices.size(); ++i) list.push(choice_object(prompt, choices[i], answers[i], context));
  const std::string use = chat ? "chatcmpl" : "cmpl";
  Json body = Json::object({{"id", use + "-" + hex_id(prompt, input_hash, use)},
                            {"object", chat ? "chat.completion" : "text_completion"},
                            {"created", context.created},
                            {"model", context.model},
                            {"choices", std::move(list)},
                            {"usage", usage_object(prompt, choices, answers)}});
  Json row = row_head(prompt, input_hash);
  row.set("response", response_object(prompt, input_hash, 200, std::move(body)));
  row.set("error", nullptr);
  row.set("x", x_object(prompt, provenance, choices, answers, input_hash));
  row.set("timing", timing_object(choices));
  return row;
}

Json openai_error_row(const Prompt& prompt, const ItemError& error, std::string_view input_hash) {
  const bool ours = error.code == "internal" || error.code == "out_of_memory";
  Json object = error_object(prompt, error);
  object.set("type", ours ? "server_error" : "invalid_request_error");
  object.set("param", error.param.empty() ? Json() : Json(error.param));
  Json row = row_head(prompt, input_hash);
  row.set("response", response_object(prompt, input_hash, ours ? 500 : 400, nullptr));
  row.set("error", std::move(object));
  row.set("x", Json::object({{"input_hash", input_hash}}));
  return row;
}

}  // namespace octet
