// `octet config show`: every option of a command with its value and where that came from.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

/// The text of `octet config WORDS...`: show [--origin] [--json] [COMMAND] [COMMAND's flags]; COMMAND is generate if it
/// is left out. Required options may be missing. Error{kUsage} as the command itself would throw it.
std::string config_text(std::span<const char* const> words);

}  // namespace octet
