// The keys of a line and of a batch line's body: a table of their names, places and readers. Private to lib/io.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "io/prompts.h"

namespace octet {

/// Where a key stands; values are bits.
enum LinePlace : unsigned {
  kNativeLine = 1,      ///< {id, prompt | prompt_token_ids | messages, ...}
  kScoreLine = 2,       ///< {id, prompt_token_ids, continuation_token_ids}
  kChatBody = 4,        ///< body of /v1/chat/completions
  kCompletionBody = 8,  ///< body of /v1/completions
};

/// A prompt being read, and the values that count only when others are known.
struct LineDraft {
  Prompt& prompt;
  LinePlace place;
  std::optional<int64_t> max_completion_tokens = {}, top_logprobs = {};
  bool wants_logprobs = false;
  bool adds_generation_prompt = true;
  std::optional<Thinking> template_thinking = {};  ///< of chat_template_kwargs
  std::optional<std::string> template_effort = {};
};

/// The first error of a line stays: later ones are often its consequence.
void fail(Prompt& prompt, std::string code, std::string message, std::string param = {});

/// A value as an error message shows it: short, whatever it is.
std::string shown(const Json& value);

/// Reads every member of a line or body, then settles what depends on several of them, and checks that there is
/// exactly one prompt.
void read_fields(const Json& object, LinePlace place, Prompt& prompt);

/// {custom_id, method, url, body}.
void read_batch_line(const Json& object, Prompt& prompt);
bool is_batch_line(const Json& object);

/// True if the program knows the key but not what it asks for. Then the prompt fails with code unsupported, unless the
/// value asks for nothing: null, or what the program does anyway.
bool read_unsupported(Prompt& prompt, LinePlace place, const std::string& key, const Json& value);

}  // namespace octet
