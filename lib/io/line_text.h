// The bytes of an input line made fit for the JSON parser, which takes nothing but well-formed UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace octet {

/// A text without ill-formed UTF-8.
struct RepairedText {
  std::string text;
  std::string problem;  ///< what was wrong; empty if nothing was
};

/// Each ill-formed maximal subpart becomes U+FFFD (the WHATWG rule).
RepairedText repair_utf8(std::string_view bytes);

/// The same, and "\ud800" escapes that are no half of a pair become "\ufffd".
RepairedText repair_json(std::string_view line);

}  // namespace octet
