// The machine this process runs on.
#pragma once

#include <string>

namespace octet {

/// The host's name; empty if the system does not say.
std::string host_name();

}  // namespace octet
