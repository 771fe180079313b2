// What octet ab is asked to do, checked against the model before its weights are loaded.
#pragma once

#include "options/options.h"
#include "runtime/runner.h"

namespace octet {

/// Error{kUsage}: an option of another mode, generate without an input, more sequences than --max-batch, a prompt
/// beyond `max_seq_len`.
void check_ab(const Options& options, int64_t max_seq_len);

/// Slots and pages for the sequences of prefill and decode.
RunnerCapacity ab_capacity(const Options& options, int64_t max_seq_len);
/// The same for sequences of at most `longest` tokens.
RunnerCapacity ab_capacity(int64_t sequences, int64_t longest, int64_t max_seq_len);

}  // namespace octet
