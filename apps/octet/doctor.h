// What `octet doctor` finds, apart from how it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "options/options.h"

namespace octet {

/// One thing that was looked at.
struct Finding {
  enum class Level { kOk, kWarn, kFail };
  Level level = Level::kOk;
  std::string check;     ///< "shared memory"
  std::string text;      ///< what is there, or what is wrong
  std::string fix = {};  ///< what to do; empty when OK
};
std::string_view level_word(Finding::Level level);

/// What a process knows about its machine.
struct Machine {
  std::string host;
  int64_t pid = 0;
  std::vector<int> cpus;    ///< it may run on
  int64_t cores = 1;        ///< online
  int64_t local_ranks = 1;  ///< ranks of this host; set by the caller
  int started_ranks = 0;    ///< by mpirun; 0 without it
  bool is_root = false, root_allowed = false;
  bool has_mpirun = false;
  int64_t shm_bytes = -1, shm_free_bytes = 0;  ///< /dev/shm; -1: not there
  int64_t open_files = 0;
  int64_t available_bytes = 0;  ///< memory, the cgroup's limit considered
  int64_t cgroup_limit_bytes = -1;
  int64_t oom_kills = 0;  ///< in this cgroup, so far
};
Machine look_at_machine();

/// "0-3, 8".
std::string cpu_list(const std::vector<int>& cpus);

/// Launcher, root, binding, shared memory, open files, memory: from the facts alone.
std::vector<Finding> machine_findings(const Machine& machine);
/// MPI and CUDA, compiled and loaded.
std::vector<Finding> build_findings();
/// Inventory, tokenizer, encoding, and the memory plan against the machine: nothing is loaded.
std::vector<Finding> model_findings(const std::string& model, const RunOptions& run, int ranks, const Machine& machine);

}  // namespace octet
