// The only readers of the environment: OCTET_* settings and the launcher's own variables.
#pragma once

#include <optional>
#include <vector>

#include "options/resolve.h"

namespace octet {

/// OCTET_* variables as settings of `command`. A variable of another command is left out; one of no command,
/// OCTET_TEST_* excepted, is Error{kUsage} with the nearest name.
std::vector<Setting> environment_settings(Command command);

/// This process's rank as the launcher gave it (Open MPI, PMIx, PMI, Slurm); 0 without a launcher. Known before MPI is.
int launcher_rank();
/// The number of ranks as mpirun gave it; empty without mpirun.
std::optional<int> launcher_size();

}  // namespace octet
