// The reference's parser with its exact idea of what is well-formed, oddities included; each is marked.
#include <array>
#include <initializer_list>
#include <set>

#include "text/chat_markup.h"
#include "text/chat_parser.h"
#include "text/python_json.h"
#include "text/utf8.h"

namespace octet {
namespace {

/// White space at the front of the text by Python's \s, in bytes.
size_t python_space_length(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    const std::string_view rest = text.substr(length);
    const auto c = static_cast<unsigned char>(rest[0]);
    if ((c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20)) {
      ++length;
      continue;
    }
    static constexpr std::array<std::string_view, 19> kWide = {
        "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
        "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
    size_t wide = 0;
    for (const std::string_view space : kWide) {
      if (rest.starts_with(space)) wide = space.size();
    }
    if (wide == 0) return length;
    length += wide;
  }
  return length;
}

/// One pass over a completion.
class StrictParser {
 public:
  explicit StrictParser(std::string_view text) : text_(text) {}

  bool parse(ChatMode mode, ParsedMessage& message) {
    const std::string calls_start = "\n\n" + std::string(kCallsOpenTag);
    if (mode == ChatMode::kThinking) {
      const Piece reasoning = read_until({kThinkEnd, calls_start});
      if (reasoning.stop != kThinkEnd) return false;
      message.reasoning_content = reasoning.text;
    }
    const Piece content = read_until({kEos, calls_start});
    if (content.stop.empty()) return false;
    message.content = content.text;
    if (content.stop == calls_start && !parse_calls(message)) return false;
    return at_ == text_.size() && is_plain(message.content) && is_plain(message.reasoning_content);
  }

 private:
  struct Piece {
    std::string_view text;
    std::string_view stop;  ///< empty: the text ended first
  };

  /// Up to the first place where any of the stops stands; goes on behind it. One look at each place, so that a stop
  /// that never comes costs one pass and not one per call.
  Piece read_until(std::initializer_list<std::string_view> stops) {
    const size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      for (const std::string_view stop : stops) {
        if (!text_.substr(at_).starts_with(stop)) continue;
        const Piece piece = {text_.substr(begin, at_ - begin), text_.substr(at_, stop.size())};
        at_ += stop.size();
        return piece;
      }
    }
    return {text_.substr(begin), {}};
  }

  static bool is_plain(std::string_view text) {
    for (const std::string_view token : {kBos, kEos, kThinkStart, kThinkEnd, kDsml}) {
      if (text.find(token) != text.npos) return false;
    }
    return true;
  }

  bool parse_calls(ParsedMessage& message) {
    // The reference looks at nothing more once the text has ended, even in the middle of the closing markup.
    while (at_ < text_.size()) {
      const Piece gap = read_until({kInvokeOpenTag, kCallsCloseTag});
      if (gap.text != ">\n" || gap.stop.empty()) return false;
      if (gap.stop == kCallsCloseTag) break;
      if (!parse_call(message.tool_calls.emplace_back())) return false;
    }
    return read_until({kEos}).text.empty();
  }

  bool parse_call(ToolCall& call) {
    Piece head = read_until({kParameterOpenTag, kInvokeCloseTag});
    std::string_view name = head.text;
    name.remove_prefix(python_space_length(name));
    if (!take_front(name, "name=\"")) return false;
    // The reference's pattern ends with $, which also matches before a last newline.
    if (name.ends_with("\">\n\n")) name.remove_suffix(1);
    if (!take_back(name, "\">\n")) return false;
    call.name = name;

    std::set<std::string_view> keys;
    call.arguments = "{";
    for (std::string_view stop = head.stop; stop == kParameterOpenTag;) {
      if (!parse_parameter(call, keys)) return false;
      const Piece gap = read_until({kParameterOpenTag, kInvokeCloseTag});
      if (gap.text != ">\n") return false;
      stop = gap.stop;
    }
    call.arguments += '}';
    return true;
  }

  bool parse_parameter(ToolCall& call, std::set<std::string_view>& keys) {
    const std::string_view close = kParameterCloseTag.substr(1);
    std::string_view rest = read_until({close}).text;
    if (rest.ends_with("<\n")) rest.remove_suffix(1);  // $ again
    if (!take_front(rest, " name=\"") || !take_back(rest, "<")) return false;
    constexpr std::string_view kAttribute = "\" string=\"";
    for (size_t end = rest.find(kAttribute); end != rest.npos; end = rest.find(kAttribute, end + 1)) {
      std::string_view value = rest.substr(end + kAttribute.size());
      const bool is_string = take_front(value, "true\">");
      if (!is_string && !take_front(value, "false\">")) continue;
      const std::string_view key = rest.substr(0, end);
      if (!keys.insert(key).second) return false;
      if (call.arguments.size() > 1) call.arguments += ", ";
      call.arguments += python_json_string(key) + ": ";
      call.arguments += is_string ? python_json_string(value) : std::string(value);
      return true;
    }
    return false;
  }

  static bool take_front(std::string_view& text, std::string_view front) {
    if (!text.starts_with(front)) return false;
    text.remove_prefix(front.size());
    return true;
  }
  static bool take_back(std::string_view& text, std::string_view back) {
    if (!text.ends_with(back)) return false;
    text.remove_suffix(back.size());
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::optional<ParsedMessage> parse_strict(std::string_view completion_with_eos, ChatMode mode) {
  ParsedMessage message;
  if (!StrictParser(completion_with_eos).parse(mode, message)) return std::nullopt;
  message.status = "strict";
  return message;
}

}  // namespace octet
