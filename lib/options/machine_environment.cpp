// See machine_environment.h.
#include "options/machine_environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace octet {

bool open_mpi_allows_root() {
  return std::getenv("OMPI_ALLOW_RUN_AS_ROOT") != nullptr && std::getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != nullptr;
}

std::vector<std::string> program_folders() {
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders;
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

}  // namespace octet
