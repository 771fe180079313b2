// See launcher.h. Compiled for any processor and free of library templates: main needs the rank to say, once, that the
// processor is too old for the rest.
#include "options/launcher.h"

#include <cstdlib>

namespace octet {
namespace {

/// A variable's whole number, or `otherwise`.
int variable(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 ? static_cast<int>(value) : otherwise;
}

}  // namespace

int launcher_rank() {
  return variable("OMPI_COMM_WORLD_RANK", variable("PMIX_RANK", variable("PMI_RANK", variable("SLURM_PROCID", 0))));
}

int launcher_size() {
  return variable("OMPI_COMM_WORLD_SIZE", 0);
}

}  // namespace octet
