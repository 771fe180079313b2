// What a run was told besides its options: variables and command line, for its record.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace octet {

/// The variables that may matter to a run: OCTET_*, OMPI_*, NCCL_*, CUDA_*, UCX_*, without those that mpirun
/// writes for each job anew.
std::map<std::string, std::string> recorded_environment();

/// This process's command line, as the kernel has it.
std::vector<std::string> own_command_line();

}  // namespace octet
