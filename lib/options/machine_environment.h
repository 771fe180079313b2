// The few variables of the surroundings that octet doctor looks at.
#pragma once

#include <string>
#include <vector>

namespace octet {

/// Whether Open MPI was told that root may use it: both variables are set.
bool open_mpi_allows_root();
/// The folders of PATH.
std::vector<std::string> program_folders();

}  // namespace octet
