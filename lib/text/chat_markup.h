// The strings that carry the structure of a DeepSeek-V4 chat: the encoder writes them, the parser looks for them.
#pragma once

#include <string_view>

namespace octet {

// Each of these is one added token of the tokenizer.
inline constexpr std::string_view kBos = "<｜begin▁of▁sentence｜>";
inline constexpr std::string_view kEos = "<｜end▁of▁sentence｜>";
inline constexpr std::string_view kUserToken = "<｜User｜>";
inline constexpr std::string_view kAssistantToken = "<｜Assistant｜>";
inline constexpr std::string_view kLatestReminderToken = "<｜latest_reminder｜>";
inline constexpr std::string_view kThinkStart = "<think>";
inline constexpr std::string_view kThinkEnd = "</think>";
inline constexpr std::string_view kDsml = "｜DSML｜";

// Tags of the tool markup. What follows a tag's name ('>' or attributes) is not part of these.
inline constexpr std::string_view kCallsOpenTag = "<｜DSML｜tool_calls";
inline constexpr std::string_view kCallsCloseTag = "</｜DSML｜tool_calls>";
inline constexpr std::string_view kInvokeOpenTag = "<｜DSML｜invoke";
inline constexpr std::string_view kInvokeCloseTag = "</｜DSML｜invoke";
inline constexpr std::string_view kParameterOpenTag = "<｜DSML｜parameter";
inline constexpr std::string_view kParameterCloseTag = "</｜DSML｜parameter";

}  // namespace octet
