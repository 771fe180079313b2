// See mpi_version.h.
#include "comm/mpi_version.h"

#include <fmt/core.h>
#include <mpi.h>

#include <string_view>

namespace octet::comm {

std::string compiled_mpi_version() {
  return fmt::format("Open MPI {}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
}

std::string loaded_mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown";
  const std::string_view line(text, static_cast<size_t>(length));
  return std::string(line.substr(0, line.find_first_of(",\n")));
}

}  // namespace octet::comm
