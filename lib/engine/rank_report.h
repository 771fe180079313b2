// What every rank has to say at the end of a run, collected.
#pragma once

#include <vector>

#include "comm/mpi_session.h"
#include "engine/summary.h"

namespace octet {

/// Collective: the reports of all ranks in rank order, on every rank; campaign and health together over the stages.
std::vector<RankReport> gather_reports(const RunnerReport& own, comm::MpiSession& session);

}  // namespace octet
