// Requests and prompts for the tests of the chat encoding.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "text/chat.h"
#include "text/chat_template.h"

namespace octet::test {

/// A request with these messages, written as JSON.
inline ChatRequest chat_request(std::string_view messages, ChatMode mode = ChatMode::kChat) {
  ChatRequest request;
  request.messages = parse_json(messages, "messages");
  request.mode = mode;
  return request;
}

/// The prompt with its control tokens in brackets: [BOS], [EOS], [U], [A], and others by their own text, as in
/// [<think>]. The same string in a message has no brackets.
inline std::string shown(const ChatPrompt& prompt) {
  std::string all;
  for (const PromptPart& part : prompt.parts) {
    if (!part.control) {
      all += part.text;
    } else if (part.text == "<｜begin▁of▁sentence｜>") {
      all += "[BOS]";
    } else if (part.text == "<｜end▁of▁sentence｜>") {
      all += "[EOS]";
    } else if (part.text == "<｜User｜>") {
      all += "[U]";
    } else if (part.text == "<｜Assistant｜>") {
      all += "[A]";
    } else {
      all += "[" + part.text + "]";
    }
  }
  return all;
}

}  // namespace octet::test
