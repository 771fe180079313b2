// The chat encoding of DeepSeek-V4: messages become the prompt the model was trained on. First half of a chat request's
// way; the second is text/chat_parser.h, which turns the completion into a message again.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace octet {

/// Which of the two encodings a checkpoint was trained with. They differ in the reasoning-effort prefixes alone.
enum class ChatEncoding {
  kV4,      ///< "v4": DeepSeek-V4-Flash and -Pro as first published
  kV40731,  ///< "0731": the refresh
};

/// Whether the model answers at once or thinks first.
enum class ChatMode { kChat, kThinking };

/// A request that cannot be encoded: its message says which part and why. It concerns one input line, never the run.
class ChatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One request in the terms of an OpenAI chat body. A Json member that was not given is null.
struct ChatRequest {
  Json messages;         ///< array of {role, content, ...}; the fields are listed at encode_chat
  Json tools;            ///< array of {"type": "function", "function": {...}}
  Json tool_choice;      ///< null or "auto"; "none" leaves `tools` out; anything else cannot be promised
  Json response_format;  ///< {"type": "json_schema", "json_schema": {"schema": ...}}; types text and json_object:
                         ///< nothing
  ChatMode mode = ChatMode::kChat;
  std::string effort;           ///< "", "low", "high" or "max"; without meaning in chat mode
  bool drop_thinking = true;    ///< leave out the reasoning of earlier turns (never done when there are tools)
  bool add_bos = true;          ///< begin with the BOS token
  bool continue_final = false;  ///< the last message, an assistant's, is to be continued: no EOS after it
};

/// A piece of a prompt: either exactly one added token, written out, or text that is data whatever it looks like.
struct PromptPart {
  std::string text;
  bool control = false;
};

/// A prompt in parts, so that control tokens written inside a message do not become control tokens. No text part is
/// empty and no two touch: the tokenizer sees the longest possible texts, as if the prompt were one string.
struct ChatPrompt {
  std::vector<PromptPart> parts;
  std::vector<std::string> warnings;  ///< what was encoded in a way its sender may not expect

  /// The whole prompt as one string.
  std::string text() const;
};

/// Encodes a conversation up to the point where the model writes. Fields read: role; content (string, null or an array
/// of parts); tools and response_format (system, developer); tool_calls, reasoning_content or reasoning, wo_eos
/// (assistant); tool_call_id (tool); task. Request-level tools go onto the first message if that is a system or
/// developer message, else onto an empty system message put before it; response_format onto the first system or
/// developer message. Throws ChatError for a request the encoding has no form for.
/// Source: DeepSeek-V4 encoding/encoding_dsv4.py, encode_messages.
ChatPrompt encode_chat(const ChatRequest& request, ChatEncoding encoding);

/// Token ids of a prompt. With allow_special_tokens, added tokens written in messages become control tokens, as in
/// DeepSeek's own code; without, they stay plain text, as in DeepSeek's API. Throws ChatError if the tokenizer lacks a
/// control token of the prompt.
std::vector<int32_t> tokenize(const ChatPrompt& prompt, const Tokenizer& tokenizer, bool allow_special_tokens);

/// How many added tokens are written in the text parts: what allow_special_tokens would turn into control tokens.
int64_t count_special_in_text(const ChatPrompt& prompt, const Tokenizer& tokenizer);

/// What a request's word for its reasoning effort asks for.
struct EffortChoice {
  ChatMode mode = ChatMode::kThinking;
  std::string tier;  ///< for ChatRequest::effort
};

/// none: chat; minimal, low: low; medium, high, xhigh: high; max, ultra: max (the table of DeepSeek's API). Nothing for
/// any other word.
std::optional<EffortChoice> effort_from_word(std::string_view word);

}  // namespace octet
