// Each field is one row of kFields: its name, where it may stand, and the function that reads it. A reader answers what
// it expected, or nothing when it was content.
#include "io/line_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace octet {
namespace {

using Kind = Json::Kind;
constexpr std::string_view kContent = {};

/// Values a number may have.
struct Bounds {
  double least, most;
  bool above_least = false;
};

std::string_view take(std::optional<double>& out, const Json& v, Bounds b, std::string_view expected) {
  out = v.as_double();
  const bool inside = out && *out <= b.most && (b.above_least ? *out > b.least : *out >= b.least);
  return inside ? kContent : expected;
}

std::string_view take(std::optional<int64_t>& out, const Json& v, int64_t least, int64_t most,
                      std::string_view expected) {
  out = v.as_int();
  return out && *out >= least && *out <= most ? kContent : expected;
}

std::string_view take(bool& out, const Json& v) {
  out = v.boolean;
  return v.is(Kind::kBool) ? kContent : "true or false";
}

std::optional<std::vector<int32_t>> token_ids(const Json& v) {
  if (!v.is(Kind::kArray)) return std::nullopt;
  std::vector<int32_t> ids;
  ids.reserve(v.items.size());
  for (const Json& item : v.items) {
    const std::optional<int64_t> id = item.as_int();
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) return std::nullopt;
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

std::string_view read_id(LineDraft& d, const Json& v) {
  if (!v.is(Kind::kString) && !v.as_int()) return "a string or an integer";
  d.prompt.id = v.is(Kind::kString) ? v : Json(*v.as_int());
  return kContent;
}

std::string_view read_text(LineDraft& d, const Json& v) {
  if (!v.is(Kind::kString)) return "a string";
  d.prompt.inputs.push_back({.text = v.text, .tokens = {}});
  return kContent;
}

std::string_view read_tokens(LineDraft& d, const Json& v) {
  std::optional<std::vector<int32_t>> ids = token_ids(v);
  if (!ids) return "a list of token ids";
  d.prompt.inputs.push_back({.text = {}, .tokens = std::move(ids)});
  return kContent;
}

/// A string, token ids, or a list of either.
std::string_view read_prompts(LineDraft& d, const Json& v) {
  if (v.is(Kind::kString)) return read_text(d, v);
  if (!v.is(Kind::kArray)) return "a string, a list of token ids, or a list of either";
  if (v.items.empty() || v.items.front().is(Kind::kNumber)) return read_tokens(d, v);
  for (const Json& item : v.items) {
    const bool read = item.is(Kind::kString) ? read_text(d, item).empty() : read_tokens(d, item).empty();
    if (!read) return "a list of strings or of lists of token ids";
  }
  return kContent;
}

std::string_view read_continuation(LineDraft& d, const Json& v) {
  std::optional<std::vector<int32_t>> ids = token_ids(v);
  if (!ids) return "a list of token ids";
  d.prompt.continuation = std::move(*ids);
  return kContent;
}

std::string_view read_messages(LineDraft& d, const Json& v) {
  d.prompt.messages = v;
  return v.is(Kind::kArray) && !v.items.empty() ? kContent : "a list of messages, not an empty one";
}

std::string_view read_tools(LineDraft& d, const Json& v) {
  d.prompt.tools = v;
  return v.is(Kind::kArray) ? kContent : "a list of tools";
}

std::string_view read_tool_choice(LineDraft& d, const Json& v) {
  d.prompt.tool_choice = v;
  return v.is(Kind::kString) || v.is(Kind::kObject) ? kContent : "\"auto\" or \"none\"";
}

std::string_view read_response_format(LineDraft& d, const Json& v) {
  d.prompt.response_format = v;
  return v.is(Kind::kObject) ? kContent : "an object";
}

/// {"type": "enabled" | "disabled"}, or the word of the flag --thinking.
std::string_view read_thinking(LineDraft& d, const Json& v) {
  const Json* type = v.find("type");
  const std::string word = v.is(Kind::kString) ? v.text : type && type->is(Kind::kString) ? type->text : "";
  if (word != "enabled" && word != "thinking" && word != "disabled" && word != "chat") {
    return "{\"type\": \"enabled\"} or {\"type\": \"disabled\"}";
  }
  d.prompt.thinking = word == "enabled" || word == "thinking" ? Thinking::kThinking : Thinking::kChat;
  return kContent;
}

std::string_view read_effort(LineDraft& d, const Json& v) {
  d.prompt.effort = v.text;
  return v.is(Kind::kString) ? kContent : "a string";
}

std::string_view read_template_kwargs(LineDraft& d, const Json& v) {
  if (!v.is(Kind::kObject)) return "an object";
  for (const auto& [key, value] : v.members) {
    const bool is_bool = value.is(Kind::kBool);
    const Thinking mode = value.boolean ? Thinking::kThinking : Thinking::kChat;
    if (value.is(Kind::kNull)) continue;
    if (key == "thinking" || key == "enable_thinking") {
      if (!is_bool) return "thinking and enable_thinking that are true or false";
      if (d.template_thinking.value_or(mode) != mode) return "thinking and enable_thinking that agree";
      d.template_thinking = mode;
    } else if (key == "drop_thinking") {
      if (!is_bool) return "drop_thinking that is true or false";
      d.prompt.drop_thinking = value.boolean;
    } else if (key == "reasoning_effort") {
      if (!value.is(Kind::kString)) return "reasoning_effort that is a string";
      d.template_effort = value.text;
    } else {
      d.prompt.unknown_keys.push_back("chat_template_kwargs." + key);
    }
  }
  return kContent;
}

std::string_view read_continue_final(LineDraft& d, const Json& v) {
  return take(d.prompt.continue_final, v);
}

std::string_view read_generation_prompt(LineDraft& d, const Json& v) {
  return take(d.adds_generation_prompt, v);
}

std::string_view read_add_special_tokens(LineDraft& d, const Json& v) {
  return take(d.prompt.add_bos.emplace(), v);
}

std::string_view read_model(LineDraft& d, const Json& v) {
  d.prompt.model = v.text;
  return v.is(Kind::kString) ? kContent : "a string";
}

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::string_view read_max_tokens(LineDraft& d, const Json& v) {
  return take(d.prompt.max_tokens, v, 1, kNoLimit, "an integer of at least 1");
}

std::string_view read_max_completion_tokens(LineDraft& d, const Json& v) {
  return take(d.max_completion_tokens, v, 1, kNoLimit, "an integer of at least 1");
}

std::string_view read_temperature(LineDraft& d, const Json& v) {
  return take(d.prompt.temperature, v, {0, std::numeric_limits<float>::max()}, "a number of at least 0");
}

std::string_view read_top_p(LineDraft& d, const Json& v) {
  return take(d.prompt.top_p, v, {.least = 0, .most = 1, .above_least = true}, "a number above 0 and at most 1");
}

std::string_view read_min_p(LineDraft& d, const Json& v) {
  return take(d.prompt.min_p, v, {0, 1}, "a number from 0 to 1");
}

std::string_view read_top_k(LineDraft& d, const Json& v) {
  const std::string_view expected =
      take(d.prompt.top_k, v, -1, std::numeric_limits<int32_t>::max(), "a count (0 or -1: off)");
  if (d.prompt.top_k == -1) d.prompt.top_k = 0;
  return expected;
}

std::string_view read_repetition_penalty(LineDraft& d, const Json& v) {
  return take(d.prompt.repetition_penalty, v, {std::numeric_limits<float>::min(), 2}, "a number above 0 and at most 2");
}

std::string_view read_presence_penalty(LineDraft& d, const Json& v) {
  return take(d.prompt.presence_penalty, v, {-2, 2}, "a number from -2 to 2");
}

std::string_view read_frequency_penalty(LineDraft& d, const Json& v) {
  return take(d.prompt.frequency_penalty, v, {-2, 2}, "a number from -2 to 2");
}

std::string_view read_seed(LineDraft& d, const Json& v) {
  d.prompt.seed = v.as_uint();
  return d.prompt.seed ? kContent : "an integer from 0 to 2^64 - 1";
}

std::string_view read_n(LineDraft& d, const Json& v) {
  return take(d.prompt.n, v, 1, 128, "an integer from 1 to 128");
}

std::string_view read_stop(LineDraft& d, const Json& v) {
  const std::vector<Json> one = {v};
  for (const Json& item : v.is(Kind::kArray) ? v.items : one) {
    if (!item.is(Kind::kString) || item.text.empty()) return "a string or a list of strings, none of them empty";
    d.prompt.stop.push_back(item.text);
  }
  return kContent;
}

std::string_view read_stop_token_ids(LineDraft& d, const Json& v) {
  std::optional<std::vector<int32_t>> ids = token_ids(v);
  if (!ids) return "a list of token ids";
  d.prompt.stop_token_ids = std::move(*ids);
  return kContent;
}

std::string_view read_ignore_eos(LineDraft& d, const Json& v) {
  return take(d.prompt.ignore_eos, v);
}

std::string_view read_wants_logprobs(LineDraft& d, const Json& v) {
  return take(d.wants_logprobs, v);
}

std::string_view read_logprobs(LineDraft& d, const Json& v) {
  if (v.is(Kind::kBool)) return read_wants_logprobs(d, v);
  return take(d.prompt.logprobs, v, 0, 20, "true, false or a count from 0 to 20");
}

std::string_view read_top_logprobs(LineDraft& d, const Json& v) {
  return take(d.top_logprobs, v, 0, 20, "a count from 0 to 20");
}

struct Field {
  std::string_view key;
  unsigned places;
  std::string_view (*read)(LineDraft&, const Json&);
};

constexpr unsigned kChats = kNativeLine | kChatBody;
constexpr unsigned kEverywhere = kNativeLine | kChatBody | kCompletionBody;

constexpr std::array kFields = {
    Field{"id", kNativeLine | kScoreLine, read_id},
    Field{"prompt", kNativeLine, read_text},
    Field{"prompt", kCompletionBody, read_prompts},
    Field{"prompt_token_ids", kNativeLine | kScoreLine, read_tokens},
    Field{"continuation_token_ids", kScoreLine, read_continuation},
    Field{"messages", kChats, read_messages},
    Field{"tools", kChats, read_tools},
    Field{"tool_choice", kChats, read_tool_choice},
    Field{"response_format", kChats, read_response_format},
    Field{"thinking", kChats, read_thinking},
    Field{"reasoning_effort", kChats, read_effort},
    Field{"chat_template_kwargs", kChats, read_template_kwargs},
    Field{"continue_final_message", kChats, read_continue_final},
    Field{"add_generation_prompt", kChats, read_generation_prompt},
    Field{"add_special_tokens", kNativeLine | kCompletionBody, read_add_special_tokens},
    Field{"model", kEverywhere, read_model},
    Field{"max_tokens", kEverywhere, read_max_tokens},
    Field{"max_completion_tokens", kEverywhere, read_max_completion_tokens},
    Field{"temperature", kEverywhere, read_temperature},
    Field{"top_p", kEverywhere, read_top_p},
    Field{"top_k", kEverywhere, read_top_k},
    Field{"min_p", kEverywhere, read_min_p},
    Field{"repetition_penalty", kEverywhere, read_repetition_penalty},
    Field{"presence_penalty", kEverywhere, read_presence_penalty},
    Field{"frequency_penalty", kEverywhere, read_frequency_penalty},
    Field{"seed", kEverywhere, read_seed},
    Field{"n", kEverywhere, read_n},
    Field{"stop", kEverywhere, read_stop},
    Field{"stop_token_ids", kEverywhere, read_stop_token_ids},
    Field{"ignore_eos", kEverywhere, read_ignore_eos},
    Field{"logprobs", kChatBody, read_wants_logprobs},
    Field{"logprobs", kNativeLine | kCompletionBody, read_logprobs},
    Field{"top_logprobs", kChats, read_top_logprobs},
};

const Field* find_field(std::string_view key, LinePlace place) {
  for (const Field& f : kFields) {
    if ((f.places & place) != 0 && f.key == key) return &f;
  }
  return nullptr;
}

/// Keys of the OpenAI interface for its own books: whom to bill, what to keep, where to cache.
bool says_nothing_of_the_answer(std::string_view key) {
  constexpr std::array kBooks = {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"};
  return std::find(kBooks.begin(), kBooks.end(), key) != kBooks.end();
}

void read_field(LineDraft& draft, const std::string& key, const Json& value) {
  Prompt& p = draft.prompt;
  const Field* field = find_field(key, draft.place);
  if (!field) {
    if (read_unsupported(p, draft.place, key, value)) return;
    if (says_nothing_of_the_answer(key)) return;
    if ((draft.place & (kChatBody | kCompletionBody)) != 0) return p.unknown_keys.push_back(key);
    return fail(p, "invalid_request", fmt::format("unknown key {}", shown(Json(key))), key);
  }
  if (value.is(Kind::kNull)) return;
  const std::string_view expected = field->read(draft, value);
  if (!expected.empty()) {
    fail(p, "invalid_request", fmt::format("{}: expected {}, found {}", key, expected, shown(value)), key);
  }
}

/// Later sources fill what earlier ones left open.
void settle(LineDraft& draft) {
  Prompt& p = draft.prompt;
  if (draft.max_completion_tokens) p.max_tokens = draft.max_completion_tokens;
  if (!p.thinking) p.thinking = draft.template_thinking;
  if (draft.template_effort) p.effort = draft.template_effort;
  if (draft.wants_logprobs) p.logprobs = draft.top_logprobs.value_or(0);
  if (draft.top_logprobs.value_or(0) > 0 && !draft.wants_logprobs) {
    fail(p, "invalid_request", "top_logprobs needs logprobs: true", "top_logprobs");
  }
  if (!draft.adds_generation_prompt && !p.continue_final) {
    fail(p, "unsupported", "add_generation_prompt: false is supported with continue_final_message only",
         "add_generation_prompt");
  }
}

/// A key that only means something for messages would otherwise be ignored in silence.
void refuse_chat_keys(Prompt& p) {
  const auto refuse = [&](bool given, const char* key) {
    if (given) fail(p, "invalid_request", fmt::format("{} needs messages", key), key);
  };
  refuse(!p.tools.is(Kind::kNull), "tools");
  refuse(!p.tool_choice.is(Kind::kNull), "tool_choice");
  refuse(!p.response_format.is(Kind::kNull), "response_format");
  refuse(p.thinking.has_value(), "thinking");
  refuse(p.effort.has_value(), "reasoning_effort");
  refuse(p.continue_final, "continue_final_message");
}

void check_prompt(Prompt& p, LinePlace place) {
  const bool both = p.inputs.size() > 1 && place != kCompletionBody;
  if (both) return fail(p, "invalid_request", "prompt and prompt_token_ids exclude each other");
  if (p.is_chat() && !p.inputs.empty()) return fail(p, "invalid_request", "messages and a prompt exclude each other");
  if (p.is_chat()) return;
  if (place == kNativeLine) refuse_chat_keys(p);
  if (p.inputs.empty()) {
    switch (place) {
      case kNativeLine:
        return fail(p, "invalid_request", "prompt or prompt_token_ids is missing (or messages)", "prompt");
      case kScoreLine: return fail(p, "invalid_request", "prompt_token_ids is missing", "prompt_token_ids");
      case kChatBody: return fail(p, "invalid_request", "messages is missing", "messages");
      case kCompletionBody: return fail(p, "invalid_request", "prompt is missing", "prompt");
    }
  }
  for (const PromptInput& input : p.inputs) {
    if (input.text ? input.text->empty() : input.tokens->empty()) fail(p, "invalid_request", "the prompt is empty");
  }
}

}  // namespace

void fail(Prompt& prompt, std::string code, std::string message, std::string param) {
  if (!prompt.error) prompt.error = ItemError{std::move(code), std::move(message), {}, {}, std::move(param)};
}

std::string shown(const Json& value) {
  constexpr size_t kLongest = 40;
  std::string text = value.dump();
  if (text.size() <= kLongest) return text;
  size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0u) == 0x80u) --cut;  // not inside a character
  return text.substr(0, cut) + "...";
}

void read_fields(const Json& object, LinePlace place, Prompt& prompt) {
  LineDraft draft{.prompt = prompt, .place = place};
  for (const auto& [key, value] : object.members) read_field(draft, key, value);
  settle(draft);
  check_prompt(prompt, place);
}

}  // namespace octet
