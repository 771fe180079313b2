// Completions of DeepSeek-V4 become messages: reasoning, content and tool calls. The way back of text/chat.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/chat.h"

namespace octet {

struct ToolCall {
  std::string id;  ///< "call_" and 24 hexadecimal digits; empty from parse_strict
  std::string name;
  std::string arguments;  ///< JSON object as text, in the order the model wrote; from parse_completion always valid
};

struct ParsedMessage {
  std::string content;
  std::string reasoning_content;
  std::vector<ToolCall> tool_calls;
  std::string status;         ///< "strict", or what was lenient about it, joined by '+' (see parse_completion)
  std::string trailing_text;  ///< what stood behind the tool calls
  std::string unparsed_text;  ///< pieces of tool markup from which no call could be made, in order
};

/// The parser of the reference: well-formed completions only, nothing else. The text is everything after the prompt,
/// EOS included. Takes time linear in the text. Source: DeepSeek-V4 encoding/encoding_dsv4.py,
/// parse_message_from_completion_text.
std::optional<ParsedMessage> parse_strict(std::string_view completion_with_eos, ChatMode mode);

/// Makes a message of any text. What parse_strict takes (with valid JSON and known tools) is "strict"; the rest is read
/// leniently, and no text but markup and white space around it is lost. Takes time linear in the text; never throws.
/// `ended_by_eos`: the model ended its turn; an EOS at the end of the text says so too. `tool_names`: calls of other
/// tools stay text; empty admits any. Ids of calls follow from `request_id` and their index alone.
///
/// Words of `status`: no_eos; think_start_removed, think_end_removed (at the front, where the prompt has it already);
/// reasoning_unclosed; markup_in_reasoning; markup_in_content (control tokens that the encoding has no place for
/// there); opener_alias (toolcalls, function_calls); bare_invoke (no block around it); block_unclosed; invoke_unclosed;
/// empty_block; stray_closer (deleted); string_assumed (a parameter that does not say whether it is a string);
/// args_repaired (invalid JSON became a string); duplicate_parameter (the last counts, the others are unparsed);
/// text_in_block and malformed_tag (unparsed); unknown_tool (left as content, or unparsed where other calls remain);
/// tool_truncated (an unfinished call at the end is unparsed); trailing_text; layout (only blanks differ).
ParsedMessage parse_completion(std::string_view completion, bool ended_by_eos, ChatMode mode,
                               const std::vector<std::string>& tool_names, std::string_view request_id);

/// The message as OpenAI writes it: {role, content, reasoning_content, tool_calls: [{id, type, function}]}.
Json message_json(const ParsedMessage& message);

}  // namespace octet
