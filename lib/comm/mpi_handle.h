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

/// The ranks of one pipeline stage, and what goes to its neighbours. Ranks of other stages are numbered as in the run.
struct StageHandle {
  MPI_Comm ranks = MPI_COMM_NULL;  ///< the run's own communicator when there is one stage
  MPI_Comm world = MPI_COMM_NULL;  ///< the run's
  bool owned = false;
  int previous = -1, next = -1;  ///< the same rank of the neighbouring stages; -1: none
  int last_root = 0;             ///< rank 0 of the last stage
};

/// Error{kEnvironment} with MPI's own text when `status` is not a success; `attempt` says what was tried.
void check(int status, std::string_view attempt, SourceLoc where = SourceLoc::here());

}  // namespace octet::comm
