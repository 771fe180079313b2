// Commands that answer a JSONL file line by line, without a model's weights.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace octet {

/// The answer to one input line, an object. `number` is the line's, from 1. What it throws, an Error or a ChatError,
/// becomes {"error": {code, message, line}} in the answer's place.
using LineAnswer = std::function<Json(const Json& line, int64_t number)>;

/// Error{kUsage} if the output exists and may not be overwritten. "-" is stdout.
void check_line_output(const std::string& output, bool force);

/// Answers every line of the input but the blank ones; "-" is stdin or stdout. Returns 0, or 3 if a line ended with an
/// error. Error{kInput} or Error{kEnvironment} for files that cannot be read or written.
int answer_lines(const std::string& input, const std::string& output, const LineAnswer& answer);

/// The member called `key`, which must be a string. Throws ChatError.
const std::string& string_member(const Json& line, const std::string& key);

}  // namespace octet
