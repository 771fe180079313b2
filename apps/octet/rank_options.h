// The options of a run on several ranks: gathered on each, compared, equal everywhere.
#pragma once

#include "comm/mpi_session.h"
#include "options/options.h"
#include "options_cli.h"

namespace octet {

/// Collective. Gathers and resolves the options on every rank and sets the log's rank and level. A failure on any rank,
/// or a rank whose environment or files give other options than rank 0's, is an AgreedError.
Options options_of_all_ranks(const Invocation& invocation, comm::MpiSession& session);

}  // namespace octet
