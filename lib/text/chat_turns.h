// Chat messages as JSON become turns: the shape the encoder renders. Private to lib/text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/chat.h"

namespace octet {

enum class ChatRole { kSystem, kDeveloper, kUser, kLatestReminder, kAssistant };

/// A call the assistant made in an earlier turn.
struct PastCall {
  std::string id;
  std::string name;
  Json arguments;  ///< an object
};

/// Part of a user turn: a user's text, or what a tool returned.
struct UserBlock {
  bool is_tool_result = false;
  std::string call_id;  ///< of a tool result
  std::string text;
};

struct ChatTurn {
  ChatRole role = ChatRole::kUser;
  std::string content;            ///< of every role but user
  std::vector<UserBlock> blocks;  ///< user
  std::vector<Json> tools;        ///< the function objects; any role but user
  Json response_format;           ///< null: none
  std::string reasoning;          ///< assistant
  std::vector<PastCall> calls;    ///< assistant
  std::string task;               ///< "": none
  bool without_eos = false;       ///< assistant
};

/// Reads the messages of a request, puts its tools and response format in place, joins tool results and consecutive
/// user messages into one user turn and orders tool results as they were called. Throws ChatError; appends to
/// `warnings`.
std::vector<ChatTurn> read_turns(const ChatRequest& request, std::vector<std::string>& warnings);

}  // namespace octet
