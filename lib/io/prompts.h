// The input of generate and score: lines of text become Prompts. A line that is wrong becomes a Prompt with an error,
// never an exception, so that every rank that parses the same text holds the same list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace octet {

/// Why a line has no result. Codes: invalid_json, invalid_request, unsupported, duplicate_custom_id,
/// context_length_exceeded (with limit and got).
struct ItemError {
  std::string code;
  std::string message;
  std::optional<int64_t> limit, got;
};

/// One line of the input that is not blank. An absent option is one the line did not give (or gave as null).
struct Prompt {
  int64_t line = 0;                            ///< 1-based, blank lines counted
  Json id;                                     ///< string or integer; the line number when absent; null if unreadable
  std::optional<std::string> text;             ///< "prompt"
  std::optional<std::vector<int32_t>> tokens;  ///< "prompt_token_ids", not negative
  std::vector<int32_t> continuation;           ///< "continuation_token_ids" (score)
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k;  ///< 0: off
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::optional<ItemError> error;
};

/// What the lines of an input are.
enum class PromptForm {
  kText,      ///< a prompt a line
  kGenerate,  ///< {id?, prompt | prompt_token_ids, max_tokens?, temperature?, top_p?, top_k?, seed?, stop?,
              ///< ignore_eos?}
  kScore,     ///< {id?, prompt_token_ids, continuation_token_ids}
};

/// The whole file, or stdin for "-". Error{kInput} if it cannot be read.
std::string read_input(const std::string& path);

/// Every line of `text` but the blank ones, in order. A trailing CR and a leading byte order mark are dropped.
std::vector<Prompt> parse_prompts(std::string_view text, PromptForm form);

/// The id as text: what must be unique, seeds are derived from and tensors are named after.
std::string id_text(const Json& id);

}  // namespace octet
