// See prompt_tokens.h. lib/text knows how a chat is written; this file knows which chat a line asks for.
#include "engine/prompt_tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "base/sha256.h"
#include "options/option_words.h"
#include "text/encoding_profile.h"

namespace octet {
namespace {

std::string word_of(Effort effort) {
  for (const auto& [word, value] : enum_words(Effort{})) {
    if (value == effort) return std::string(word);
  }
  return "";
}

/// The first source that says something: thinking and effort of the line, then the flags. An effort alone also says
/// whether to think.
std::variant<EffortChoice, ItemError> effort_of(const Prompt& prompt, const RequestOptions& options) {
  EffortChoice choice{.mode = options.thinking == Thinking::kThinking ? ChatMode::kThinking : ChatMode::kChat,
                      .tier = options.reasoning_effort ? word_of(*options.reasoning_effort) : ""};
  if (prompt.effort) {
    const std::optional<EffortChoice> asked = effort_from_word(*prompt.effort);
    if (!asked) {
      return invalid(fmt::format("reasoning_effort: expected none, minimal, low, medium, high, xhigh, max or ultra, "
                                 "found {}",
                                 Json(*prompt.effort).dump()),
                     "reasoning_effort");
    }
    choice = *asked;
  }
  if (prompt.thinking) {
    choice.mode = *prompt.thinking == Thinking::kThinking ? ChatMode::kThinking : ChatMode::kChat;
  }
  if (choice.mode == ChatMode::kChat) choice.tier = "";
  return choice;
}

/// Whether the model continues inside its reasoning. An action is chosen after <think> as well.
bool ends_in_reasoning(const ChatPrompt& chat) {
  auto part = chat.parts.rbegin();
  if (part != chat.parts.rend() && part->control && part->text == "<｜action｜>") ++part;
  return part != chat.parts.rend() && part->control && part->text == "<think>";
}

bool asks_for_a_certain_tool(const Json& tool_choice) {
  if (tool_choice.is(Json::Kind::kNull)) return false;
  return !tool_choice.is(Json::Kind::kString) || (tool_choice.text != "auto" && tool_choice.text != "none");
}

std::optional<ItemError> refusal(const Prompt& prompt, const RequestLimits& limits) {
  if (!limits.tokenizer) return invalid("the model folder has no tokenizer.json; give prompt_token_ids", "messages");
  if (!limits.encoding) {
    return invalid(
        "the model folder has no encoding folder, so how messages become text is not known; give "
        "--encoding v4 or --encoding 0731",
        "messages");
  }
  if (asks_for_a_certain_tool(prompt.tool_choice)) {
    return ItemError{"unsupported", "tool_choice: only \"auto\" and \"none\" are supported", {}, {}, "tool_choice"};
  }
  return std::nullopt;
}

std::variant<PromptTokens, ItemError> chat_tokens(const Prompt& prompt, const RequestLimits& limits,
                                                  const RequestOptions& options) {
  if (std::optional<ItemError> error = refusal(prompt, limits)) return *error;
  const auto effort = effort_of(prompt, options);
  if (const ItemError* error = std::get_if<ItemError>(&effort)) return *error;
  const auto& [mode, tier] = std::get<EffortChoice>(effort);
  try {
    const ChatPrompt chat = encode_chat({.messages = prompt.messages,
                                         .tools = prompt.tools,
                                         .tool_choice = prompt.tool_choice,
                                         .response_format = prompt.response_format,
                                         .mode = mode,
                                         .effort = tier,
                                         .drop_thinking = prompt.drop_thinking.value_or(true),
                                         .continue_final = prompt.continue_final},
                                        *limits.encoding);
    for (const std::string& warning : chat.warnings) warn_once(limits, warning, warning);
    PromptTokens made;
    made.prompts.push_back(tokenize(chat, *limits.tokenizer, options.allow_special_tokens));
    made.provenance = {.encoding = std::string(word_of(*limits.encoding)),
                       .thinking = mode == ChatMode::kThinking ? "thinking" : "chat",
                       .effort = tier,
                       .reasoning_open = ends_in_reasoning(chat),
                       .special_tokens_in_text = count_special_in_text(chat, *limits.tokenizer),
                       .prompt_sha256 = sha256(chat.text())};
    return made;
  } catch (const ChatError& e) {
    return invalid(e.what(), "messages");
  }
}

}  // namespace

std::variant<PromptTokens, ItemError> prompt_tokens(const Prompt& prompt, const RequestLimits& limits,
                                                    const RequestOptions& options) {
  if (prompt.is_chat()) return chat_tokens(prompt, limits, options);
  const bool wants_bos = prompt.add_bos.value_or(options.bos == Bos::kAuto);
  PromptTokens made;
  std::string all;
  for (const PromptInput& input : prompt.inputs) {
    if (input.tokens) {
      made.prompts.push_back(*input.tokens);
      continue;
    }
    if (!limits.tokenizer) return invalid("the model folder has no tokenizer.json; give prompt_token_ids", "prompt");
    std::vector<TokenId>& tokens = made.prompts.emplace_back(limits.tokenizer->encode(*input.text));
    if (wants_bos && (tokens.empty() || tokens.front() != limits.bos)) {
      tokens.insert(tokens.begin(), limits.bos);
      all += limits.tokenizer->token_bytes(limits.bos, /*skip_special=*/false);
    }
    if (tokens.empty()) return invalid("the prompt is empty", "prompt");
    all += *input.text;
  }
  if (!all.empty()) made.provenance.prompt_sha256 = sha256(all);
  return made;
}

void warn_once(const RequestLimits& limits, const std::string& what, const std::string& text) {
  if (limits.warned && limits.warned->insert(what).second) log::warn("{}", text);
}

ItemError invalid(std::string message, std::string param) {
  return {"invalid_request", std::move(message), {}, {}, std::move(param)};
}

}  // namespace octet
