// The lenient parser. Its rule for every byte: markup that made sense is dropped, everything else goes somewhere in the
// message. Tags are found once, so hostile text costs no more than long text.
#include "text/chat_parser.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "text/chat_markup.h"
#include "text/chat_tags.h"
#include "text/python_json.h"

namespace octet {
namespace {

using Kind = ChatTag::Kind;

bool is_blank(std::string_view text) {
  return blank_length(text) == text.size();
}

/// What was unusual, each word once.
class Findings {
 public:
  void note(std::string_view word) {
    if (std::find(words_.begin(), words_.end(), word) == words_.end()) words_.push_back(word);
  }
  bool has(std::string_view word) const { return std::find(words_.begin(), words_.end(), word) != words_.end(); }
  std::string joined() const {
    std::string all;
    for (const std::string_view word : words_) all += (all.empty() ? "" : "+") + std::string(word);
    return all.empty() ? "layout" : all;
  }

 private:
  std::vector<std::string_view> words_;
};

/// The text without its closing tags, none of which has anything to close.
std::string without_closers(std::string_view text, Findings& findings) {
  std::string kept;
  size_t done = 0;
  for (const ChatTag& tag : find_chat_tags(text)) {
    if (!tag.is_closer()) continue;
    findings.note("stray_closer");
    kept += text.substr(done, tag.begin - done);
    done = tag.end;
  }
  return kept += text.substr(done);
}

/// The text before tool calls: the encoding puts an empty line between.
std::string_view before_calls(std::string_view text) {
  if (text.ends_with("\n\n")) return text.substr(0, text.size() - 2);
  const size_t last = text.find_last_not_of(" \t\r\n\f\v");
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

/// Place of the first tag that can begin tool calls.
size_t find_calls(std::string_view text) {
  for (const ChatTag& tag : find_chat_tags(text)) {
    if (tag.kind == Kind::kBlockOpen) return tag.begin;
    if (tag.kind == Kind::kInvokeOpen && text.substr(tag.end).starts_with(" name=\"")) return tag.begin;
  }
  return text.npos;
}

/// Reads tool calls from the front of a text.
class CallReader {
 public:
  CallReader(std::string_view text, const std::vector<std::string>& tool_names, Findings& findings)
      : text_(text), tags_(find_chat_tags(text)), tools_(tool_names.begin(), tool_names.end()), findings_(findings) {}

  void read_block() {
    bool open = tags_.front().kind == Kind::kBlockOpen;
    if (!open) findings_.note("bare_invoke");
    while (skip_blanks()) {
      const ChatTag* tag = tag_here();
      if (tag == nullptr) {
        if (!open || tag_ == tags_.size()) break;
        set_aside_to(next_tag_begin(), "text_in_block");
        continue;
      }
      if (tag->is_alias) findings_.note("opener_alias");
      if (tag->kind == Kind::kInvokeOpen) {
        read_call(*tag);
        continue;
      }
      if (tag->kind == Kind::kParameterOpen) {
        set_aside_tag();
        continue;
      }
      const bool closes = tag->kind == Kind::kBlockClose && open;
      if (tag->is_closer() && !closes) findings_.note("stray_closer");
      if (tag->kind == Kind::kBlockOpen) {
        if (std::exchange(open, true) && at_ > 0) findings_.note("block_unclosed");
      }
      go_to(tag->end);
      if (!closes) continue;
      open = false;
      break;
    }
    if (open) findings_.note("block_unclosed");
    if (calls_.empty() && unparsed_.empty() && !findings_.has("unknown_tool")) findings_.note("empty_block");
  }

  std::vector<ToolCall>& calls() { return calls_; }
  std::string& unparsed() { return unparsed_; }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  struct Parameters {
    std::vector<std::pair<std::string_view, std::string>> members;  // key, JSON text
    std::vector<std::string_view> raw;                              // the whole parameter, beside each member
    std::map<std::string_view, size_t> places;
  };

  void go_to(size_t place) {
    at_ = place;
    while (tag_ < tags_.size() && tags_[tag_].begin < at_) ++tag_;
  }
  /// False at the end of the text.
  bool skip_blanks() {
    go_to(at_ + blank_length(text_.substr(at_)));
    return at_ < text_.size();
  }
  const ChatTag* tag_here() const { return tag_ < tags_.size() && tags_[tag_].begin == at_ ? &tags_[tag_] : nullptr; }
  size_t next_tag_begin() const { return tag_ < tags_.size() ? tags_[tag_].begin : text_.size(); }
  /// End of what can be the attributes of the tag here: the next tag.
  size_t attributes_end() const { return tag_ + 1 < tags_.size() ? tags_[tag_ + 1].begin : text_.size(); }

  void set_aside(std::string_view piece) {
    if (!unparsed_.empty()) unparsed_ += '\n';
    unparsed_ += piece;
  }
  void set_aside_to(size_t end, std::string_view finding) {
    findings_.note(finding);
    set_aside(text_.substr(at_, end - at_));
    go_to(end);
  }
  void set_aside_tag() { set_aside_to(attributes_end(), "malformed_tag"); }

  void read_call(const ChatTag& tag) {
    const size_t begin = at_, unparsed_before = unparsed_.size();
    const TagAttributes head = read_tag_attributes(text_.substr(tag.end, attributes_end() - tag.end));
    if (head.length == 0 && attributes_end() < text_.size()) return set_aside_tag();
    Parameters parameters;
    bool complete = head.length > 0;
    if (complete) {
      go_to(tag.end + head.length);
      complete = read_parameters(parameters);
    }
    const bool known = tools_.empty() || tools_.count(head.name) > 0;
    if (complete && known) {
      calls_.push_back({"", std::string(head.name), arguments_of(parameters)});
      return;
    }
    // Nothing came of the call: all of it is set aside in one piece.
    unparsed_.resize(unparsed_before);
    if (!complete) go_to(text_.size());
    findings_.note(complete ? "unknown_tool" : "tool_truncated");
    set_aside(text_.substr(begin, at_ - begin));
  }

  /// The inside of a call and its closing tag; false if the text ended first.
  bool read_parameters(Parameters& parameters) {
    while (skip_blanks()) {
      const ChatTag* tag = tag_here();
      if (tag == nullptr) {
        if (tag_ == tags_.size()) return false;
        set_aside_to(next_tag_begin(), "text_in_block");
        continue;
      }
      switch (tag->kind) {
        case Kind::kInvokeClose: go_to(tag->end); return true;
        case Kind::kBlockOpen:
        case Kind::kBlockClose:
        case Kind::kInvokeOpen: findings_.note("invoke_unclosed"); return true;
        case Kind::kParameterClose:
          findings_.note("stray_closer");
          go_to(tag->end);
          break;
        case Kind::kParameterOpen:
          if (!read_parameter(*tag, parameters)) return false;
          break;
      }
    }
    return false;
  }

  bool read_parameter(const ChatTag& tag, Parameters& parameters) {
    const TagAttributes head = read_tag_attributes(text_.substr(tag.end, attributes_end() - tag.end));
    if (head.length == 0) {
      if (attributes_end() == text_.size()) return false;
      set_aside_tag();
      return true;
    }
    go_to(tag.end + head.length);
    const size_t begin = at_;
    while (tag_ < tags_.size() && tags_[tag_].kind != Kind::kParameterClose) ++tag_;
    if (tag_ == tags_.size()) return false;
    const std::string_view value = text_.substr(begin, tags_[tag_].begin - begin);
    go_to(tags_[tag_].end);
    if (head.string.empty()) findings_.note("string_assumed");
    add(parameters, {head.name, value, text_.substr(tag.begin, at_ - tag.begin)}, head.string == "false");
    return true;
  }

  struct Written {
    std::string_view key, value, whole;
  };
  void add(Parameters& parameters, const Written& written, bool is_json) {
    const auto& [key, value, whole] = written;
    if (is_json && !is_strict_json(value)) {
      findings_.note("args_repaired");
      is_json = false;
    }
    const auto [place, is_new] = parameters.places.emplace(key, parameters.members.size());
    if (is_new) {
      parameters.members.emplace_back(key, "");
      parameters.raw.push_back(whole);
    } else {
      findings_.note("duplicate_parameter");
      set_aside(std::exchange(parameters.raw[place->second], whole));
    }
    parameters.members[place->second].second = is_json ? std::string(value) : python_json_string(value);
  }

  static std::string arguments_of(const Parameters& parameters) {
    std::string text = "{";
    for (const auto& [key, value] : parameters.members) {
      if (text.size() > 1) text += ", ";
      text += python_json_string(key) + ": " + value;
    }
    return text + "}";
  }

  std::string_view text_;
  std::vector<ChatTag> tags_;
  std::set<std::string_view> tools_;
  Findings& findings_;
  size_t at_ = 0;   // everything before is dealt with
  size_t tag_ = 0;  // the first tag at or behind at_
  std::vector<ToolCall> calls_;
  std::string unparsed_;
};

bool has_control(std::string_view text) {
  for (const std::string_view token : {kBos, kEos, kThinkStart, kThinkEnd, kDsml}) {
    if (text.find(token) != text.npos) return true;
  }
  return false;
}

/// Splits off the reasoning; returns what follows it.
std::string_view take_reasoning(std::string_view text, ParsedMessage& message, Findings& findings) {
  if (text.starts_with(kThinkStart)) {
    findings.note("think_start_removed");
    text.remove_prefix(kThinkStart.size());
  }
  const size_t end = text.find(kThinkEnd);
  if (end != text.npos) {
    message.reasoning_content = text.substr(0, end);
    if (has_control(message.reasoning_content)) findings.note("markup_in_reasoning");
    return text.substr(end + kThinkEnd.size());
  }
  findings.note("reasoning_unclosed");
  const size_t calls = find_calls(text);
  message.reasoning_content = calls == text.npos ? text : before_calls(text.substr(0, calls));
  return calls == text.npos ? std::string_view() : text.substr(calls);
}

void read_content(std::string_view text, const std::vector<std::string>& tool_names, ParsedMessage& message,
                  Findings& findings) {
  const size_t begin = find_calls(text);
  if (begin == text.npos) {
    message.content = without_closers(text, findings);
  } else {
    message.content = without_closers(before_calls(text.substr(0, begin)), findings);
    CallReader reader(text.substr(begin), tool_names, findings);
    reader.read_block();
    if (reader.calls().empty() && findings.has("unknown_tool")) {
      message.content = text;
      return;
    }
    message.tool_calls = std::move(reader.calls());
    message.unparsed_text = std::move(reader.unparsed());
    const std::string rest = without_closers(reader.rest(), findings);
    if (!is_blank(rest)) {
      findings.note("trailing_text");
      message.trailing_text = rest;
    }
  }
  if (has_control(message.content)) findings.note("markup_in_content");
}

bool is_fit_for_use(const ParsedMessage& message, const std::vector<std::string>& tool_names) {
  return std::all_of(message.tool_calls.begin(), message.tool_calls.end(), [&](const ToolCall& call) {
    const bool known =
        tool_names.empty() || std::find(tool_names.begin(), tool_names.end(), call.name) != tool_names.end();
    return known && is_strict_json(call.arguments);
  });
}

}  // namespace

ParsedMessage parse_completion(std::string_view completion, bool ended_by_eos, ChatMode mode,
                               const std::vector<std::string>& tool_names, std::string_view request_id) {
  if (completion.ends_with(kEos)) {
    ended_by_eos = true;
    completion.remove_suffix(kEos.size());
  }
  std::optional<ParsedMessage> message;
  if (ended_by_eos) message = parse_strict(std::string(completion) + std::string(kEos), mode);
  if (!message || !is_fit_for_use(*message, tool_names)) {
    Findings findings;
    message.emplace();
    if (!ended_by_eos) findings.note("no_eos");
    std::string_view text = completion;
    if (mode == ChatMode::kThinking) {
      text = take_reasoning(text, *message, findings);
    } else if (text.starts_with(kThinkEnd)) {
      findings.note("think_end_removed");
      text.remove_prefix(kThinkEnd.size());
    }
    read_content(text, tool_names, *message, findings);
    message->status = findings.joined();
  }
  for (size_t i = 0; i < message->tool_calls.size(); ++i) {
    const std::string digest = sha256(std::string(request_id) + "\n" + std::to_string(i));
    message->tool_calls[i].id = "call_" + digest.substr(0, 24);
  }
  return std::move(*message);
}

Json message_json(const ParsedMessage& message) {
  Json calls = Json::array();
  for (const ToolCall& call : message.tool_calls) {
    const Json function = Json::object({{"name", Json(call.name)}, {"arguments", Json(call.arguments)}});
    calls.push(Json::object({{"id", Json(call.id)}, {"type", Json("function")}, {"function", function}}));
  }
  return Json::object({{"role", Json("assistant")},
                       {"content", Json(message.content)},
                       {"reasoning_content", Json(message.reasoning_content)},
                       {"tool_calls", std::move(calls)}});
}

}  // namespace octet
