// What the launcher told this process, known before MPI is. One of the two readers of the environment.
#pragma once

namespace octet {

/// This process's rank (Open MPI, PMIx, PMI, Slurm); 0 without a launcher.
int launcher_rank();
/// The number of ranks mpirun started; 0 without mpirun.
int launcher_size();

}  // namespace octet
