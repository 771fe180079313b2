// The MPI side of MpiSession, for the .cpp files of lib/comm only: its communicators and the check of a status.
#pragma once

#include <mpi.h>

#include <string_view>

#include "base/error.h"

namespace octet::comm {

/// Two private copies of MPI_COMM_WORLD, both returning errors instead of ending the process.
struct MpiHandle {
  MPI_Comm world = MPI_COMM_NULL;     ///< every collective of a run
  MPI_Comm failures = MPI_COMM_NULL;  ///< ranks that fail meet here while others may be inside a collective of `world`
};

/// Error{kEnvironment} with MPI's own text when `status` is not a success; `attempt` says what was tried.
void check(int status, std::string_view attempt, SourceLoc where = SourceLoc::here());

}  // namespace octet::comm
