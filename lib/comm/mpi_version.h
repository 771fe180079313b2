// Which MPI the program was compiled with and which one it runs with.
#pragma once

#include <string>

namespace octet::comm {

/// "Open MPI 4.1.4".
std::string compiled_mpi_version();
/// The library's own line, cut at the first comma: "Open MPI v4.1.4". Works before MPI is initialised.
std::string loaded_mpi_version();

}  // namespace octet::comm
