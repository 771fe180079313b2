// See row_parts.h.
#include "engine/row_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/sha256.h"
#include "text/chat_parser.h"

namespace octet {
namespace {

using Kind = Json::Kind;

/// The text of a completion that no stop string cut. What ended it is no part of it.
std::string decoded(const Finished& finished, const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens = finished.tokens;
  if (finished.ended_by_eos || finished.stop_token) tokens.pop_back();
  std::erase_if(tokens, [&](TokenId t) { return t >= tokenizer.vocab_size(); });  // padding of the model's vocabulary
  return tokenizer.decode(tokens);
}

void append_names(std::vector<std::string>& names, const Json* tools) {
  if (!tools) return;
  for (const Json& tool : tools->items) {
    const Json* function = tool.find("function");
    const Json* name = function ? function->find("name") : nullptr;
    if (name && name->is(Kind::kString)) names.push_back(name->text);
  }
}

/// Tools that the model was told of; a call of any other is text.
std::vector<std::string> tool_names(const Prompt& prompt) {
  std::vector<std::string> names;
  const bool left_out = prompt.tool_choice.is(Kind::kString) && prompt.tool_choice.text == "none";
  if (!left_out) append_names(names, &prompt.tools);
  for (const Json& message : prompt.messages.items) append_names(names, message.find("tools"));
  return names;
}

int64_t reasoning_tokens(const ChatProvenance& provenance, const Finished& finished, const Tokenizer& tokenizer) {
  if (!provenance.reasoning_open) return 0;
  const std::optional<TokenId> end = tokenizer.added_token_id("</think>");
  const auto& tokens = finished.tokens;
  const auto found = end ? std::find(tokens.begin(), tokens.end(), *end) : tokens.end();
  return found == tokens.end() ? std::ssize(tokens) : found - tokens.begin() + 1;
}

std::string finish_word(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kRepetition: return "repetition";
    case FinishReason::kNotFinite: break;  // such a line is an error
  }
  return "";
}

Json null_if_empty(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

/// What x says of one completion of a chat.
void set_parse_members(Json& object, const Answer& answer) {
  if (answer.parse_status.empty()) return;
  object.set("parse_status", answer.parse_status);
  if (answer.parse_status != "strict") object.set("raw_text", answer.raw_text);
}

Json milliseconds(int64_t us) {
  return static_cast<double>(us) / 1000;
}

}  // namespace

Answer answer_of(const Prompt& prompt, const ChatProvenance& provenance, const Completion& completion,
                 std::string_view input_hash, const Tokenizer* tokenizer) {
  const Finished& finished = completion.finished;
  Answer answer{.text = {}, .message = {}, .finish_reason = finish_word(finished.reason), .stop_reason = {}};
  if (finished.stop_token) answer.stop_reason = *finished.stop_token;
  if (finished.stop_string) answer.stop_reason = *finished.stop_string;
  if (!tokenizer) return answer;
  std::string text = finished.text ? *finished.text : decoded(finished, *tokenizer);
  if (!prompt.is_chat()) {
    answer.text = std::move(text);
    return answer;
  }
  const std::string request_id = hex_id(prompt, input_hash, "answer") + ":" + std::to_string(finished.choice);
  const ParsedMessage parsed =
      parse_completion(text, finished.ended_by_eos, provenance.reasoning_open ? ChatMode::kThinking : ChatMode::kChat,
                       tool_names(prompt), request_id);
  answer.message = message_json(parsed);
  if (!parsed.tool_calls.empty() && finished.ended_by_eos) answer.finish_reason = "tool_calls";
  answer.parse_status = parsed.status;
  answer.raw_text = std::move(text);
  answer.reasoning_tokens = reasoning_tokens(provenance, finished, *tokenizer);
  return answer;
}

TokenSums token_sums(const Prompt& prompt, std::span<const Completion> choices) {
  TokenSums sums;
  for (const Completion& c : choices) {
    sums.completion += std::ssize(c.finished.tokens);
    if (c.finished.choice % prompt.samples() != 0) continue;
    sums.prompt += c.finished.prompt_tokens;
    sums.cached += c.finished.cached_tokens;
  }
  return sums;
}

Json timing_object(const Timing& t) {
  Json object = Json::object();
  object.members.reserve(6);
  object.set("queue_ms", milliseconds(t.queue_us));
  object.set("prefill_ms", milliseconds(t.prefill_us));
  object.set("ttft_ms", milliseconds(t.ttft_us()));
  object.set("ttft_sched_ms", milliseconds(t.prefill_us));
  object.set("decode_ms", milliseconds(t.decode_us));
  object.set("total_ms", milliseconds(t.total_us()));
  return object;
}

Json timing_object(std::span<const Completion> choices) {
  int64_t queue = choices[0].timing.queue_us, first = choices[0].timing.ttft_us(), last = 0;
  for (const Completion& c : choices) {
    queue = std::min(queue, c.timing.queue_us);
    first = std::min(first, c.timing.ttft_us());
    last = std::max(last, c.timing.total_us());
  }
  return timing_object(Timing{.queue_us = queue, .prefill_us = first - queue, .decode_us = last - first});
}

Json x_object(const Prompt& prompt, const ChatProvenance& provenance, std::span<const Completion> choices,
              std::span<const Answer> answers, std::string_view input_hash) {
  Json x = Json::object();
  x.set("seed", choices[0].finished.seed);
  x.set("input_hash", input_hash);
  if (prompt.is_chat()) {
    x.set("encoding", provenance.encoding);
    x.set("thinking", provenance.thinking);
    x.set("reasoning_effort", null_if_empty(provenance.effort));
    x.set("special_tokens_in_text", provenance.special_tokens_in_text);
  }
  x.set("prompt_sha256", null_if_empty(provenance.prompt_sha256));
  if (choices.size() == 1) {
    set_parse_members(x, answers[0]);
    return x;
  }
  Json each = Json::array();
  for (size_t i = 0; i < choices.size(); ++i) {
    Json& own = each.push(Json::object({{"index", choices[i].finished.choice}, {"seed", choices[i].finished.seed}}));
    set_parse_members(own, answers[i]);
  }
  x.set("choices", std::move(each));
  return x;
}

Json error_object(const Prompt& prompt, const ItemError& error) {
  Json object = Json::object({{"code", error.code}, {"message", error.message}, {"line", prompt.line}});
  if (error.limit) object.set("limit", *error.limit);
  if (error.got) object.set("got", *error.got);
  return object;
}

std::string hex_id(const Prompt& prompt, std::string_view input_hash, std::string_view use) {
  constexpr size_t kDigits = 24;
  std::string named(use);
  named.append("\n").append(input_hash).append("\n").append(id_text(prompt.id));
  return sha256(named).substr(0, kDigits);
}

}  // namespace octet
