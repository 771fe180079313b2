// The text and the tokens of a line's prompts, as the model will see them. Private to lib/engine.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/requests.h"

namespace octet {

struct PromptTokens {
  std::vector<std::vector<TokenId>> prompts;  ///< one for each input; a chat has one
  ChatProvenance provenance;
};

/// Encodes messages, or puts BOS before texts that lack it; token ids stay as they are. Nothing is checked against the
/// vocabulary or the context.
std::variant<PromptTokens, ItemError> prompt_tokens(const Prompt& prompt, const RequestLimits& limits,
                                                    const RequestOptions& options);

/// Warns once of each thing; does nothing where nobody is to be warned.
void warn_once(const RequestLimits& limits, const std::string& what, const std::string& text);

/// invalid_request about `param`.
ItemError invalid(std::string message, std::string param = {});

}  // namespace octet
