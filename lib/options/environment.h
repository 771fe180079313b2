// OCTET_* variables as settings.
#pragma once

#include <vector>

#include "options/resolve.h"

namespace octet {

/// OCTET_* variables as settings of `command`. A variable of another command is left out; one of no command,
/// OCTET_TEST_* excepted, is Error{kUsage} with the nearest name.
std::vector<Setting> environment_settings(Command command);

}  // namespace octet
