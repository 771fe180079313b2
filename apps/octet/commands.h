// The commands as functions: resolved options in, exit code out (0, or 3 when some lines ended with an error). What
// ends a run early is an Error, which main turns into one message and its code.
#pragma once

#include "comm/mpi_session.h"
#include "options/options.h"

namespace octet {

/// Completes the prompts of a file; every rank calls it.
int run_generate(const Options&, comm::MpiSession&);
/// Log-probabilities of given continuations; every rank calls it.
int run_score(const Options&, comm::MpiSession&);
/// Compares arms of campaign flags with one another; every rank calls it. 0 whatever the verdict.
int run_ab(const Options&, comm::MpiSession&);
/// Times the sums of a layer's ranks; every rank calls it.
int run_bench(const Options&, comm::MpiSession&);
/// What the lines of a file feed the model, as text and token ids; one process, no MPI.
int run_render(const Options&);
/// Prints the tensors of a checkpoint from the headers alone; one process, no MPI.
int run_inspect(const Options&);
/// Writes a synthetic checkpoint; one process, no MPI.
int run_synth(const Options&);
/// Prints the memory that a run needs; one process, no MPI.
int run_plan(const Options&);
/// Checks the machine, and a model if one is given; every rank calls it. 6 when something fails.
int run_doctor(const Options&, comm::MpiSession&);
/// Repeats the run of a record; every rank calls it.
int run_replay(const Options&, comm::MpiSession&);
/// Texts to token ids or back, line by line; one process, no MPI.
int run_tokenize(const Options&);
/// Completions to messages, line by line; one process, no MPI.
int run_parse(const Options&);

}  // namespace octet
