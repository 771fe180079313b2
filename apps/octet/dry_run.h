// What --dry-run says instead of running.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "options/options.h"

namespace octet {

/// What the checks before a run have found.
struct DryRunFacts {
  int ranks = 1;
  int64_t lines = 0;             ///< of the input
  int64_t failed = 0;            ///< lines that would end with an error
  int64_t prompt_tokens = 0;     ///< of the others, together
  int64_t most_new_tokens = 0;   ///< what they may generate at most, together
  int64_t longest_request = 0;   ///< prompt and completion of the longest, at most
  int64_t slots = 0, pages = 0;  ///< the runner's capacity
};

/// A run as a plan: its work, its memory, and as the last line the command that makes it. `command_line` is this
/// process's own, with --dry-run in it.
std::string dry_run_text(const Options& options, const ModelConfig& config, const DryRunFacts& facts,
                         const std::vector<std::string>& command_line);

/// Prints it (the caller: rank 0) and returns the exit code of such a run: 0, or 3 when lines would fail.
/// Error{kMemory} when the ranks of this host would need more than it has; `local_ranks`: how many they are.
int print_dry_run(const Options& options, const ModelConfig& config, const DryRunFacts& facts, int64_t local_ranks);

/// The words as a shell reads them back.
std::string shell_text(const std::vector<std::string>& words);

}  // namespace octet
