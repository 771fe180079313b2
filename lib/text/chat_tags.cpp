// Tags are searched by the one string they all contain; the rest of a tag is compared in place.
#include "text/chat_tags.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/chat_markup.h"

namespace octet {
namespace {

struct Word {
  std::string_view text;
  ChatTag::Kind kind;
  bool is_alias;
};

using Kind = ChatTag::Kind;
constexpr std::array<Word, 5> kOpeners = {{{"tool_calls>", Kind::kBlockOpen, false},
                                           {"toolcalls>", Kind::kBlockOpen, true},
                                           {"function_calls>", Kind::kBlockOpen, true},
                                           {"invoke", Kind::kInvokeOpen, false},
                                           {"parameter", Kind::kParameterOpen, false}}};
constexpr std::array<Word, 5> kClosers = {{{"tool_calls>", Kind::kBlockClose, false},
                                           {"toolcalls>", Kind::kBlockClose, true},
                                           {"function_calls>", Kind::kBlockClose, true},
                                           {"invoke>", Kind::kInvokeClose, false},
                                           {"parameter>", Kind::kParameterClose, false}}};

/// The tag whose DSML stands at this place, if it is one.
std::optional<ChatTag> tag_around(std::string_view text, size_t dsml) {
  const std::string_view before = text.substr(0, dsml);
  const bool closes = before.ends_with("</");
  if (!closes && !before.ends_with('<')) return std::nullopt;
  const size_t word_begin = dsml + kDsml.size();
  for (const Word& word : closes ? kClosers : kOpeners) {
    if (!text.substr(word_begin).starts_with(word.text)) continue;
    return ChatTag{word.kind, dsml - (closes ? 2 : 1), word_begin + word.text.size(), word.is_alias};
  }
  return std::nullopt;
}

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

}  // namespace

std::vector<ChatTag> find_chat_tags(std::string_view text) {
  std::vector<ChatTag> tags;
  for (size_t at = text.find(kDsml); at != text.npos; at = text.find(kDsml, at + kDsml.size())) {
    if (const std::optional<ChatTag> tag = tag_around(text, at)) tags.push_back(*tag);
  }
  return tags;
}

TagAttributes read_tag_attributes(std::string_view text) {
  std::string_view rest = text.substr(blank_length(text));
  if (!take(rest, "name=\"")) return {};
  for (size_t quote = rest.find('"'); quote != rest.npos; quote = rest.find('"', quote + 1)) {
    TagAttributes found;
    std::string_view tail = rest.substr(quote + 1);
    tail.remove_prefix(blank_length(tail));
    if (take(tail, "string=\"true\"")) found.string = "true";
    if (take(tail, "string=\"false\"")) found.string = "false";
    tail.remove_prefix(blank_length(tail));
    if (!take(tail, ">")) continue;
    found.name = rest.substr(0, quote);
    found.length = text.size() - tail.size();
    return found;
  }
  return {};
}

size_t blank_length(std::string_view text) {
  return std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size());
}

}  // namespace octet
