// What was built, and with what it runs.
#pragma once

#include <string>

#include "base/json.h"

namespace octet {

/// `octet --version`: one line.
std::string version_line();
/// `octet --version --json`.
Json version_json();

}  // namespace octet
