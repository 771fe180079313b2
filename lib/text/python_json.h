// JSON as Python reads and writes it. Chat prompts show the model tool schemas and arguments in exactly the text that
// json.dumps(json.loads(text), ensure_ascii=False) gives; one blank or digit more and the tokens differ.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace octet {

/// What json.loads makes of the text, or nothing where that raises an error. Beyond JSON it takes NaN, Infinity and
/// -Infinity (numbers with that source text). A repeated key keeps its first place and its last value; a lone surrogate
/// escape becomes U+FFFD. Error{kInput} if the text nests deeper than 256: neither Python nor this program could go on.
std::optional<Json> read_python_json(std::string_view text);

/// json.dumps(value, ensure_ascii=False): ", " and ": " between things, integers in full, floats as Python's repr.
std::string python_json(const Json& value);
/// The same for a string: quotes around it, escapes for quotes, backslashes and control characters only.
std::string python_json_string(std::string_view text);

/// True if the text is one JSON value by RFC 8259, which knows no NaN, and nests at most 256 deep.
bool is_strict_json(std::string_view text);

}  // namespace octet
