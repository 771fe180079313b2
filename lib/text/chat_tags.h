// The tags of the tool markup in a text, found in one pass. Private to lib/text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace octet {

struct ChatTag {
  enum class Kind {
    kBlockOpen,       ///< "<" DSML "tool_calls>", or one of the names models write instead
    kBlockClose,      ///< the same with "</"
    kInvokeOpen,      ///< "<" DSML "invoke"; attributes follow
    kInvokeClose,     ///< "</" DSML "invoke>"
    kParameterOpen,   ///< "<" DSML "parameter"; attributes follow
    kParameterClose,  ///< "</" DSML "parameter>"
  };
  Kind kind;
  size_t begin, end;      ///< bytes [begin, end) of the text
  bool is_alias = false;  ///< a block tag of another name than tool_calls

  bool is_closer() const {
    return kind == Kind::kBlockClose || kind == Kind::kInvokeClose || kind == Kind::kParameterClose;
  }
};

/// All tags, in order. Takes time linear in the text.
std::vector<ChatTag> find_chat_tags(std::string_view text);

/// The attributes behind "<" DSML "invoke" or "<" DSML "parameter".
struct TagAttributes {
  std::string_view name;
  std::string_view string;  ///< "true", "false" or, if absent, ""
  size_t length = 0;        ///< bytes up to and including the '>'; 0: malformed
};

/// Reads [blank] name="NAME" [string="true|false"] > from the front of the text. NAME is the shortest that fits and may
/// contain anything.
TagAttributes read_tag_attributes(std::string_view text);

/// Length of the white space at the front (ASCII only: what a model puts between tags).
size_t blank_length(std::string_view text);

}  // namespace octet
