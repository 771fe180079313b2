// Texts for people: help of the program and of each command, made from the option list.
#pragma once

#include <string>

#include "options/options.h"

namespace octet {

/// `octet --help`.
std::string program_help();
/// `octet COMMAND --help`: examples, then options in groups with units and defaults.
std::string command_help(Command command);

}  // namespace octet
