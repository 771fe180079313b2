// UTF-8: what the bytes at a place are, and the two whole-text operations built on it. Lowest layer of lib/text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octet {

/// What stands at the front of some bytes.
struct Utf8Front {
  enum class Kind {
    kCharacter,   ///< `length` bytes that form one character
    kIllFormed,   ///< `length` bytes (the maximal subpart) that can never become one: one U+FFFD
    kUnfinished,  ///< all the bytes there are, a proper prefix of a possible character
  };
  Kind kind;
  size_t length;
};

/// Classifies the front of `bytes`, which must not be empty.
Utf8Front utf8_front(std::string_view bytes);

/// True if the whole text is well-formed UTF-8.
bool is_valid_utf8(std::string_view text);

/// Replaces ill-formed maximal subparts by U+FFFD (the WHATWG rule); an unfinished character at the end counts as one.
std::string replace_invalid_utf8(std::string_view text);

/// U+FFFD REPLACEMENT CHARACTER.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace octet
