// `octet parse`: completions become messages, from files written by hand or by a run.
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "io/prompts.h"
#include "line_answers.h"
#include "text/chat_parser.h"

namespace octet {
namespace {

using Kind = Json::Kind;

std::vector<std::string> tool_names(const Json& line) {
  std::vector<std::string> names;
  const Json* tools = line.find("tools");
  if (tools == nullptr || tools->is(Kind::kNull)) return names;
  if (!tools->is(Kind::kArray)) throw ChatError("\"tools\" must be an array");
  for (const Json& tool : tools->items) {
    const Json* function = tool.find("function");
    if (function == nullptr) throw ChatError("\"tools\": a tool without a \"function\" object");
    names.push_back(string_member(*function, "name"));
  }
  return names;
}

ChatMode mode_of(const Json& line) {
  const Json* thinking = line.find("thinking");
  if (thinking == nullptr || thinking->is(Kind::kNull)) return ChatMode::kChat;
  if (thinking->is(Kind::kString) && (thinking->text == "chat" || thinking->text == "thinking")) {
    return thinking->text == "chat" ? ChatMode::kChat : ChatMode::kThinking;
  }
  if (!thinking->is(Kind::kBool)) throw ChatError("\"thinking\" must be true, false, \"chat\" or \"thinking\"");
  return thinking->boolean ? ChatMode::kThinking : ChatMode::kChat;
}

/// A line of a run says how the completion ended; one written by hand need not, and then it is whole.
bool ended_by_eos(const Json& line) {
  const Json* reason = line.find("finish_reason");
  const Json* stopped_by = line.find("stop_reason");
  if (stopped_by != nullptr && !stopped_by->is(Kind::kNull)) return false;
  return reason == nullptr || reason->text != "length";
}

Json parse_line(const Json& line, int64_t number) {
  const Json* error = line.find("error");
  if (error != nullptr && !error->is(Kind::kNull)) return Json::object({{"error", *error}});
  const Json* id = line.find("id");
  const std::string request_id = id_text(id == nullptr ? Json(number) : *id);
  const ParsedMessage parsed =
      parse_completion(string_member(line, "text"), ended_by_eos(line), mode_of(line), tool_names(line), request_id);
  Json answer = Json::object();
  if (id != nullptr) answer.set("id", *id);
  answer.set("message", message_json(parsed));
  answer.set("parse_status", Json(parsed.status));
  if (!parsed.trailing_text.empty()) answer.set("trailing_text", Json(parsed.trailing_text));
  if (!parsed.unparsed_text.empty()) answer.set("unparsed_text", Json(parsed.unparsed_text));
  return answer;
}

}  // namespace

int run_parse(const Options& options) {
  const ParseOptions& p = options.parse;
  check_line_output(p.output, p.force);
  return answer_lines(p.input, p.output, parse_line);
}

}  // namespace octet
