// What rows of every form are made of. Private to lib/engine.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rows.h"

namespace octet {

/// A completion in the words of a row.
struct Answer {
  Json text;     ///< of a prompt; null without a tokenizer
  Json message;  ///< of a chat
  std::string finish_reason;
  Json stop_reason;               ///< a stop string or a stop token's id; else null
  std::string parse_status = {};  ///< of a chat: how its text was read as a message
  std::string raw_text = {};      ///< of a chat that was not read strictly
  int64_t reasoning_tokens = 0;   ///< up to and with the end of reasoning
};

Answer answer_of(const Prompt& prompt, const ChatProvenance& provenance, const Completion& completion,
                 std::string_view input_hash, const Tokenizer* tokenizer);

/// Tokens of a row: a prompt counts once, however many completions it has.
struct TokenSums {
  int64_t prompt = 0, completion = 0, cached = 0;
};
TokenSums token_sums(const Prompt& prompt, std::span<const Completion> choices);

/// From submission to the last token of the last completion; the first token is the first of any.
Json timing_object(std::span<const Completion> choices);
Json timing_object(const Timing& timing);

/// {"seed","input_hash","prompt_sha256", ...}: what octet tells beyond the form.
Json x_object(const Prompt& prompt, const ChatProvenance& provenance, std::span<const Completion> choices,
              std::span<const Answer> answers, std::string_view input_hash);

/// {"content":[{"token","logprob","bytes","top_logprobs":[...]}]}.
Json chat_logprobs(const Completion& completion, const Tokenizer* tokenizer);
/// {"tokens","token_logprobs","top_logprobs":[{token: logprob}],"text_offset"}; offsets in characters.
Json completion_logprobs(const Completion& completion, const Tokenizer* tokenizer);

/// 24 hexadecimal digits that follow from the line alone; `use` tells the ids of one line apart.
std::string hex_id(const Prompt& prompt, std::string_view input_hash, std::string_view use);

/// The answer to a line of an OpenAI batch file, good or failed.
Json openai_row(const Prompt& prompt, const ChatProvenance& provenance, std::span<const Completion> choices,
                std::span<const Answer> answers, std::string_view input_hash, const RowContext& context);
Json openai_error_row(const Prompt& prompt, const ItemError& error, std::string_view input_hash);

}  // namespace octet
