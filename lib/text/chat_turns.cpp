// Everything about the JSON of a request; nothing about the text of a prompt. Every message can be hostile: what has no
// meaning is a ChatError that names the message.
#include "text/chat_turns.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "text/python_json.h"

namespace octet {
namespace {

using Kind = Json::Kind;

/// The member, or null where it is absent.
const Json& member(const Json& object, std::string_view key) {
  static const Json kNull;
  const Json* found = object.find(key);
  return found == nullptr ? kNull : *found;
}

/// Whether the value counts as given: Python's truth, on which the reference decides.
bool is_given(const Json& value) {
  switch (value.kind) {
    case Kind::kNull: return false;
    case Kind::kBool: return value.boolean;
    case Kind::kNumber: return value.as_double() != 0.0;
    case Kind::kString: return !value.text.empty();
    case Kind::kArray: return !value.items.empty();
    case Kind::kObject: return !value.members.empty();
  }
  return false;
}

std::string string_or_empty(const Json& value, const std::string& what) {
  if (value.is(Kind::kNull)) return "";
  if (!value.is(Kind::kString)) throw ChatError(what + " must be a string");
  return value.text;
}

std::string required_string(const Json& value, const std::string& what) {
  if (!value.is(Kind::kString)) throw ChatError(what + " must be a string");
  return value.text;
}

/// What to do with a content part that is no text.
enum class OtherParts { kRefuse, kName };

/// The texts of a content that may be a string, null or an array of parts.
std::vector<std::string> content_texts(const Json& content, const std::string& what, OtherParts other_parts) {
  if (!content.is(Kind::kArray)) return {string_or_empty(content, what)};
  std::vector<std::string> texts;
  for (const Json& part : content.items) {
    const std::string type = required_string(member(part, "type"), what + ": the type of a part");
    if (type == "text") {
      texts.push_back(string_or_empty(member(part, "text"), what + ": the text of a part"));
    } else if (other_parts == OtherParts::kName) {
      texts.push_back(fmt::format("[Unsupported {}]", type));
    } else {
      throw ChatError(fmt::format("{}: a part of type \"{}\" is not supported, only text is", what, type));
    }
  }
  return texts;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (size_t i = 0; i < texts.size(); ++i) all += (i == 0 ? "" : "\n\n") + texts[i];
  return all;
}

std::vector<Json> functions_of(const Json& tools, const std::string& what) {
  if (!is_given(tools)) return {};
  if (!tools.is(Kind::kArray)) throw ChatError(what + " must be an array");
  std::vector<Json> functions;
  for (const Json& tool : tools.items) {
    const Json& function = member(tool, "function");
    if (!function.is(Kind::kObject)) throw ChatError(what + ": a tool without a \"function\" object");
    functions.push_back(function);
  }
  return functions;
}

Json arguments_of(const Json& arguments, const std::string& what, std::vector<std::string>& warnings) {
  if (arguments.is(Kind::kObject)) return arguments;
  if (arguments.is(Kind::kNull)) return Json::object();
  const std::string text = required_string(arguments, what + ": arguments");
  try {
    std::optional<Json> parsed = read_python_json(text);
    if (parsed && parsed->is(Kind::kObject)) return std::move(*parsed);
  } catch (const Error& error) {
    throw ChatError(fmt::format("{}: arguments: {}", what, error.what()));
  }
  warnings.push_back(what + ": the arguments are no JSON object and are shown as one string");
  return Json::object({{"arguments", Json(text)}});
}

std::vector<PastCall> calls_of(const Json& calls, const std::string& what, std::vector<std::string>& warnings) {
  if (!is_given(calls)) return {};
  if (!calls.is(Kind::kArray)) throw ChatError(what + ": tool_calls must be an array");
  std::vector<PastCall> past;
  for (const Json& call : calls.items) {
    const Json& function = member(call, "function");
    PastCall& made = past.emplace_back();
    made.id = string_or_empty(member(call, "id"), what + ": the id of a tool call");
    made.name = required_string(member(function, "name"), what + ": the function name of a tool call");
    made.arguments = arguments_of(member(function, "arguments"), what, warnings);
  }
  return past;
}

void append_user_message(std::vector<ChatTurn>& turns, const Json& message, const std::string& what, bool is_tool) {
  const std::string task = is_tool ? "" : string_or_empty(member(message, "task"), what + ": task");
  // A user's text does not join a turn that ends with a task; a tool result does.
  const bool joins = !turns.empty() && turns.back().role == ChatRole::kUser && (is_tool || turns.back().task.empty());
  if (!joins) {
    turns.emplace_back().task = task;
  }
  std::vector<UserBlock>& blocks = turns.back().blocks;
  if (is_tool) {
    const std::string id = string_or_empty(member(message, "tool_call_id"), what + ": tool_call_id");
    blocks.push_back({true, id, joined(content_texts(member(message, "content"), what, OtherParts::kName))});
    return;
  }
  for (std::string& text : content_texts(member(message, "content"), what, OtherParts::kRefuse)) {
    blocks.push_back({false, "", std::move(text)});
  }
}

ChatTurn other_turn(ChatRole role, const Json& message, const std::string& what, std::vector<std::string>& warnings) {
  ChatTurn turn;
  turn.role = role;
  turn.content = joined(content_texts(member(message, "content"), what, OtherParts::kRefuse));
  turn.task = string_or_empty(member(message, "task"), what + ": task");
  turn.tools = functions_of(member(message, "tools"), what + ": tools");
  if (is_given(member(message, "response_format"))) turn.response_format = member(message, "response_format");
  if (role != ChatRole::kAssistant) return turn;
  turn.reasoning = string_or_empty(member(message, "reasoning_content"), what + ": reasoning_content");
  if (turn.reasoning.empty()) turn.reasoning = string_or_empty(member(message, "reasoning"), what + ": reasoning");
  turn.calls = calls_of(member(message, "tool_calls"), what, warnings);
  turn.without_eos = is_given(member(message, "wo_eos"));
  return turn;
}

void append_message(std::vector<ChatTurn>& turns, const Json& message, size_t index,
                    std::vector<std::string>& warnings) {
  const std::string what = fmt::format("messages[{}]", index);
  const std::string role = required_string(member(message, "role"), what + ": role");
  if (role == "user" || role == "tool") return append_user_message(turns, message, what, role == "tool");
  static const std::map<std::string_view, ChatRole> kRoles = {{"system", ChatRole::kSystem},
                                                              {"developer", ChatRole::kDeveloper},
                                                              {"latest_reminder", ChatRole::kLatestReminder},
                                                              {"assistant", ChatRole::kAssistant}};
  const auto known = kRoles.find(role);
  if (known == kRoles.end()) throw ChatError(fmt::format("{}: \"{}\" is no role of this model", what, role));
  turns.push_back(other_turn(known->second, message, what, warnings));
}

bool takes_instructions(const ChatTurn& turn) {
  return turn.role == ChatRole::kSystem || turn.role == ChatRole::kDeveloper;
}

ChatTurn empty_system_turn() {
  ChatTurn turn;
  turn.role = ChatRole::kSystem;
  return turn;
}

void place_request_tools(std::vector<ChatTurn>& turns, const ChatRequest& request) {
  const bool none = request.tool_choice.is(Kind::kString) && request.tool_choice.text == "none";
  const bool automatic =
      !is_given(request.tool_choice) || (request.tool_choice.is(Kind::kString) && request.tool_choice.text == "auto");
  if (!none && !automatic) {
    throw ChatError("tool_choice: only \"auto\" and \"none\" are supported; the model cannot be made to call a tool");
  }
  if (none || !is_given(request.tools)) return;
  if (turns.empty() || !takes_instructions(turns.front())) turns.insert(turns.begin(), empty_system_turn());
  turns.front().tools = functions_of(request.tools, "tools");
}

void place_request_format(std::vector<ChatTurn>& turns, const Json& format) {
  if (!is_given(format)) return;
  const std::string type = required_string(member(format, "type"), "response_format: type");
  if (type == "text" || type == "json_object") return;  // the encoding has no words for them
  const Json& schema = member(member(format, "json_schema"), "schema");
  if (type != "json_schema") throw ChatError(fmt::format("response_format: \"{}\" is no known type", type));
  if (!is_given(schema)) throw ChatError("response_format: json_schema.schema is missing");
  auto holder = std::find_if(turns.begin(), turns.end(), takes_instructions);
  if (holder == turns.end()) holder = turns.insert(turns.begin(), empty_system_turn());
  holder->response_format = schema;
}

/// Tool results of one turn in the order of the calls they answer; texts keep their places.
void order_tool_results(std::vector<ChatTurn>& turns) {
  std::map<std::string, size_t> order;
  for (ChatTurn& turn : turns) {
    if (!turn.calls.empty()) order.clear();
    for (size_t i = 0; i < turn.calls.size(); ++i) {
      if (!turn.calls[i].id.empty()) order[turn.calls[i].id] = i;
    }
    if (order.empty()) continue;
    std::vector<UserBlock> results;
    for (const UserBlock& block : turn.blocks) {
      if (block.is_tool_result) results.push_back(block);
    }
    const auto place = [&order](const UserBlock& block) {
      const auto known = order.find(block.call_id);
      return known == order.end() ? size_t{0} : known->second;
    };
    std::stable_sort(results.begin(), results.end(),
                     [&](const UserBlock& a, const UserBlock& b) { return place(a) < place(b); });
    auto next = results.begin();
    for (UserBlock& block : turn.blocks) {
      if (block.is_tool_result) block = std::move(*next++);
    }
  }
}

}  // namespace

std::vector<ChatTurn> read_turns(const ChatRequest& request, std::vector<std::string>& warnings) {
  if (!request.messages.is(Kind::kArray)) throw ChatError("messages must be an array");
  if (request.messages.items.empty()) throw ChatError("messages is empty");
  std::vector<ChatTurn> turns;
  for (size_t i = 0; i < request.messages.items.size(); ++i) {
    if (!request.messages.items[i].is(Kind::kObject)) throw ChatError(fmt::format("messages[{}] is no object", i));
    append_message(turns, request.messages.items[i], i, warnings);
  }
  place_request_tools(turns, request);
  place_request_format(turns, request.response_format);
  order_tool_results(turns);
  if (request.continue_final) {
    if (turns.back().role != ChatRole::kAssistant) {
      throw ChatError("the last message is to be continued, but it is not the assistant's");
    }
    turns.back().without_eos = true;
  }
  return turns;
}

}  // namespace octet
