// The input of generate and score: lines of text become Prompts. A line that is wrong becomes a Prompt with an error,
// never an exception, so that every rank that parses the same text holds the same list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "options/options.h"

namespace octet {

/// Why a line has no result. Codes: invalid_json, invalid_request, unsupported, duplicate_custom_id,
/// context_length_exceeded (with limit and got).
struct ItemError {
  std::string code;
  std::string message;
  std::optional<int64_t> limit, got;
  std::string param = {};  ///< the key it is about, empty if there is none
};

/// A prompt as text or as token ids; exactly one is there.
struct PromptInput {
  std::optional<std::string> text = {};
  std::optional<std::vector<int32_t>> tokens = {};  ///< not negative
};

/// How a line asks and is answered.
enum class LineForm { kNative, kOpenAiChat, kOpenAiCompletion };

/// One line of the input that is not blank. An absent option is one the line did not give (or gave as null).
struct Prompt {
  int64_t line = 0;  ///< 1-based, blank lines counted
  LineForm form = LineForm::kNative;
  Json id;                            ///< string or integer; the line number when absent; null if unreadable
  std::vector<PromptInput> inputs;    ///< one; several when a body's "prompt" is an array of prompts
  std::vector<int32_t> continuation;  ///< "continuation_token_ids" (score)

  // A chat: then there are no inputs, and what engine/requests makes of these is the prompt.
  Json messages, tools, tool_choice, response_format;  ///< null when absent
  std::optional<Thinking> thinking;
  std::optional<std::string> effort;  ///< as written
  std::optional<bool> drop_thinking;
  bool continue_final = false;  ///< the last message is an answer's beginning

  std::optional<std::string> model;
  std::optional<int64_t> max_tokens, n;
  std::optional<double> temperature, top_p, min_p;
  std::optional<double> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int64_t> top_k;     ///< 0: off
  std::optional<int64_t> logprobs;  ///< alternatives beside the drawn token, 0..20
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  std::optional<bool> add_bos;  ///< "add_special_tokens"
  bool ignore_eos = false;
  std::vector<std::string> unknown_keys;  ///< of a batch line and its body
  std::optional<ItemError> error;
  /// Why the line is no UTF-8 (a lone surrogate is none either): an error, unless U+FFFD shall stand for what is wrong,
  /// which is how the members above were read.
  std::optional<ItemError> ill_formed = {};

  bool is_chat() const { return !messages.is(Json::Kind::kNull); }
  bool is_openai() const { return form != LineForm::kNative; }
  /// Completions of each input.
  int64_t samples() const { return n.value_or(1); }
};

/// What the lines of an input are.
enum class PromptForm {
  kText,      ///< a prompt a line
  kGenerate,  ///< {id?, prompt | prompt_token_ids | messages, ...} or {custom_id, method, url, body}
  kScore,     ///< {id?, prompt_token_ids, continuation_token_ids}
};

/// The whole file, or stdin for "-". Error{kInput} if it cannot be read.
std::string read_input(const std::string& path);

/// What the lines of the file called so are, for generate: a .txt file has a prompt a line.
PromptForm prompt_form(std::string_view path);

/// One line, which is not blank; `number` counts from 1. A trailing CR, and a byte order mark of line 1, are dropped.
/// Whether an earlier line has its id is for the caller to find out.
Prompt parse_prompt(std::string_view line, int64_t number, PromptForm form);

/// Every line of `text` but the blank ones, in order; the second line of an id is an error.
std::vector<Prompt> parse_prompts(std::string_view text, PromptForm form);

/// The id as text: what must be unique, seeds are derived from and tensors are named after.
std::string id_text(const Json& id);

}  // namespace octet
