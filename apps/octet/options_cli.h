// From argv, the environment and a YAML file to resolved options. The only place where CLI11 and yaml-cpp are used.
#pragma once

#include <string>
#include <vector>

#include "options/resolve.h"

namespace octet {

/// What argv asks for: a text to print (help, version), or a command with the flags it was given.
struct Invocation {
  std::string text = {};
  Command command = Command::kGenerate;  ///< meaningless when there is a text
  std::vector<Setting> flags = {};
};

/// Reads argv. Error{kUsage} for an unknown command or flag (with the nearest name), a missing or a superfluous value.
Invocation read_command_line(int argc, const char* const* argv);

/// The keys of a YAML file as settings. Error{kUsage} with file and line for an unknown or repeated key, for a value
/// that is not a plain one, and for a text that is not YAML.
std::vector<Setting> read_yaml(Command command, const std::string& path);

/// Flags, variables and, when any of the two names one, the YAML file, unresolved.
std::vector<Setting> gather_settings(const Invocation& invocation);

/// Flags, variables and, when any of the two names one, the YAML file; resolved.
ResolvedOptions gather_options(const Invocation& invocation);

}  // namespace octet
