// The checks. Facts are gathered in look_at_machine(); what they mean is decided from the facts alone.
#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/host.h"
#include "build_facts.h"
#include "comm/mpi_version.h"
#include "doctor.h"
#include "model/checkpoint.h"
#include "model/plan_text.h"
#include "options/launcher.h"
#include "options/machine_environment.h"
#include "plan.h"
#include "text/encoding_profile.h"
#include "text/tokenizer.h"

namespace octet {
namespace {

using Level = Finding::Level;
namespace fs = std::filesystem;

constexpr int64_t kUsualRanks = 8;
constexpr int64_t kShmPerRank = int64_t{16} << 20;
constexpr int64_t kContainerShm = int64_t{64} << 20;  // what container run-times give without being asked
constexpr int64_t kFewFiles = 256, kEnoughFiles = 1024;
constexpr size_t kThreads = 2;  // of a rank: the computation and the watchdog

std::string gib(int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) * 0x1p-30);
}

/// The whole number after `key` in a file of "key value" or "key: value" lines; with an empty key, the file's first.
std::optional<int64_t> number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t digit = line.find_first_of("0123456789", key.size());
    if (digit == line.npos) return std::nullopt;
    int64_t value = 0;
    std::from_chars(line.data() + digit, line.data() + line.size(), value);
    return value;
  }
  return std::nullopt;
}

/// Memory that this process and those beside it may still take.
void look_at_memory(Machine& m) {
  constexpr int64_t kKib = 1024;
  m.available_bytes = number_in("/proc/meminfo", "MemAvailable:").value_or(0) * kKib;
  struct Cgroup {
    const char *limit, *used, *events;
  };
  constexpr std::array<Cgroup, 2> kVersions = {
      Cgroup{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.events"},
      Cgroup{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
             "/sys/fs/cgroup/memory/memory.oom_control"}};
  constexpr int64_t kNoLimit = int64_t{1} << 60;
  for (const Cgroup& cgroup : kVersions) {
    m.oom_kills = std::max(m.oom_kills, number_in(cgroup.events, "oom_kill ").value_or(0));
    const std::optional<int64_t> limit = number_in(cgroup.limit, "");
    if (!limit || *limit <= 0 || *limit > kNoLimit) continue;
    m.cgroup_limit_bytes = *limit;
    const int64_t left = *limit - number_in(cgroup.used, "").value_or(0);
    m.available_bytes = std::min(m.available_bytes, std::max<int64_t>(left, 0));
  }
}

Finding launcher_finding(const Machine& m) {
  if (m.started_ranks == 0) {
    const std::string text = fmt::format("one process on {} cores, without mpirun", m.cores);
    if (!m.has_mpirun) return {Level::kWarn, "launcher", text + "; mpirun is not in PATH", "install openmpi-bin"};
    if (m.cores < kUsualRanks) {
      return {Level::kWarn, "launcher", text, "eight ranks on this machine need mpirun --oversubscribe -np 8"};
    }
    return {Level::kOk, "launcher", text};
  }
  const std::string text = fmt::format("mpirun started {} ranks, {} of them on this host of {} cores", m.started_ranks,
                                       m.local_ranks, m.cores);
  if (m.started_ranks != 1 && m.started_ranks != 2 && m.started_ranks != 4 && m.started_ranks != 8) {
    return {Level::kFail, "launcher", text, "the model divides by 1, 2, 4 or 8 ranks: mpirun -np 8"};
  }
  if (m.local_ranks > m.cores) {
    return {Level::kWarn, "launcher", text, "ranks share cores, which is slow: use fewer ranks or more cores"};
  }
  return {Level::kOk, "launcher", text};
}

Finding root_finding(const Machine& m) {
  if (!m.is_root) return {Level::kOk, "user", "not root"};
  if (m.root_allowed || m.started_ranks > 0) return {Level::kOk, "user", "root, which Open MPI was told to allow"};
  return {Level::kWarn, "user", "root, which mpirun refuses",
          "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
}

Finding binding_finding(const Machine& m) {
  const std::string text = fmt::format("may run on {} of {} cores", m.cpus.size(), m.cores);
  const bool scarce = static_cast<size_t>(m.cores) < kThreads;
  if (m.cpus.size() >= kThreads || scarce) return {Level::kOk, "binding", text};
  return {Level::kWarn, "binding", text + fmt::format(", but a rank has {} threads", kThreads),
          "mpirun --bind-to none, or --bind-to numa"};
}

Finding shm_finding(const Machine& m) {
  const char* const fix = "mount /dev/shm larger: --shm-size=1g, or --ipc=host, for a container";
  if (m.shm_bytes < 0) return {Level::kFail, "shared memory", "there is no /dev/shm", fix};
  const std::string text = fmt::format("/dev/shm has {}, {} free", gib(m.shm_bytes), gib(m.shm_free_bytes));
  const int64_t ranks = std::max(m.local_ranks, kUsualRanks);
  if (m.shm_free_bytes < kShmPerRank * m.local_ranks) return {Level::kFail, "shared memory", text, fix};
  if (m.shm_bytes <= kContainerShm || m.shm_free_bytes < kShmPerRank * ranks) {
    return {Level::kWarn, "shared memory", text, fix};
  }
  return {Level::kOk, "shared memory", text};
}

Finding files_finding(const Machine& m) {
  const std::string text = fmt::format("{} files may be open", m.open_files);
  const std::string fix = fmt::format("ulimit -n {}", 4 * kEnoughFiles);
  if (m.open_files < kFewFiles) return {Level::kFail, "open files", text, fix};
  if (m.open_files < kEnoughFiles) return {Level::kWarn, "open files", text, fix};
  return {Level::kOk, "open files", text};
}

Finding memory_finding(const Machine& m) {
  std::string text = fmt::format("{} available", gib(m.available_bytes));
  if (m.cgroup_limit_bytes >= 0) text += fmt::format(", within a cgroup limit of {}", gib(m.cgroup_limit_bytes));
  return {Level::kOk, "memory", text};
}

Finding oom_finding(const Machine& m) {
  if (m.oom_kills == 0) return {Level::kOk, "memory kills", "none in this cgroup"};
  return {Level::kWarn, "memory kills",
          fmt::format("{} processes of this cgroup were killed for lack of memory", m.oom_kills),
          "give the job or container more memory, or plan for less (octet plan)"};
}

/// What an attempt gave: `good`, or a failure with the sentence of its Error.
template <class Attempt>
Finding attempt(const std::string& check, const std::string& fix, Attempt&& good) {
  try {
    return good();
  } catch (const std::exception& e) {
    return {Level::kFail, check, e.what(), fix};
  }
}

Finding plan_finding(const std::string& model, const RunOptions& run, int ranks, const Machine& m) {
  const MemoryPlanner planner(plan_source(model).config, ranks, run.numerics.value_or(Numerics::kOfficial),
                              run.campaign, static_cast<int>(run.pp));
  const MemoryPlan plan = plan_of_run(planner, run);
  const int64_t each = m.available_bytes / std::max<int64_t>(m.local_ranks, 1);
  const std::string text = fmt::format("a rank needs up to {}, and {} are available to each of {} here",
                                       gib(plan.total_bytes()), gib(each), m.local_ranks);
  if (plan.total_bytes() <= each) return {Level::kOk, "memory plan", text};
  const std::vector<std::string> advice = advice_lines(plan, advise(planner, plan, each));
  return {plan.weight_bytes > each ? Level::kFail : Level::kWarn, "memory plan", text,
          advice.empty() ? "more ranks on more hosts, or more memory" : advice.front()};
}

}  // namespace

std::string_view level_word(Finding::Level level) {
  switch (level) {
    case Level::kOk: return "OK";
    case Level::kWarn: return "WARN";
    case Level::kFail: return "FAIL";
  }
  return "?";
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", cpus[i]);
    if (end - i > 1) text += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return text;
}

Machine look_at_machine() {
  Machine m;
  m.host = host_name();
  m.pid = ::getpid();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) m.cpus.push_back(cpu);
    }
  }
  m.cores = std::max<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1);
  m.started_ranks = launcher_size();
  m.is_root = ::geteuid() == 0;
  m.root_allowed = open_mpi_allows_root();
  std::error_code ignored;
  for (const std::string& folder : program_folders()) {
    m.has_mpirun = m.has_mpirun || fs::exists(folder + "/mpirun", ignored);
  }
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    m.shm_bytes = static_cast<int64_t>(shm.f_blocks * shm.f_frsize);
    m.shm_free_bytes = static_cast<int64_t>(shm.f_bavail * shm.f_frsize);
  }
  struct rlimit files {};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    m.open_files = static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, rlim_t{1} << 40));
  }
  look_at_memory(m);
  return m;
}

std::vector<Finding> machine_findings(const Machine& m) {
  return {launcher_finding(m), root_finding(m),   binding_finding(m), shm_finding(m),
          files_finding(m),    memory_finding(m), oom_finding(m)};
}

std::vector<Finding> build_findings() {
  const std::string compiled = comm::compiled_mpi_version(), loaded = comm::loaded_mpi_version();
  // "Open MPI 4.1.4" and "Open MPI v4.1.4"
  const bool same = loaded.find(compiled.substr(compiled.rfind(' ') + 1)) != loaded.npos;
  const std::string text = fmt::format("compiled with {}, runs with {}", compiled, loaded);
  return {same ? Finding{Level::kOk, "MPI", text}
               : Finding{Level::kWarn, "MPI", text, "build octet again with the MPI that runs it"},
          {Level::kOk, "CUDA", kCudaBuilt ? "built with CUDA" : "built without CUDA: the CPU computes"}};
}

std::vector<Finding> model_findings(const std::string& model, const RunOptions& run, int ranks,
                                    const Machine& machine) {
  std::vector<Finding> findings;
  findings.push_back(
      attempt("checkpoint", "download the folder again; octet inspect -m DIR says more", [&]() -> Finding {
        const Checkpoint checkpoint = open_checkpoint(model);
        return {Level::kOk, "checkpoint",
                fmt::format("{} tensors, {} bytes in {} files", checkpoint.tensors.size(), checkpoint.tensor_bytes,
                            checkpoint.files.size())};
      }));
  findings.push_back(attempt("tokenizer", "download tokenizer.json again", [&]() -> Finding {
    if (fs::exists(model + "/tokenizer.json")) {
      Tokenizer::from_dir(model);
      return {Level::kOk, "tokenizer", "tokenizer.json is readable"};
    }
    return {Level::kWarn, "tokenizer", "there is no tokenizer.json: only lines with prompt_token_ids will run",
            "download tokenizer.json"};
  }));
  findings.push_back(attempt("encoding", "say --encoding v4 or 0731", [&]() -> Finding {
    if (const std::optional<EncodingProfile> profile = find_encoding(model)) {
      return {Level::kOk, "encoding", fmt::format("{}, by {}", word_of(profile->encoding), profile->file)};
    }
    return {Level::kWarn, "encoding", "the folder brings no encoder: lines with messages need --encoding",
            "say --encoding v4 or 0731, or download the encoding folder"};
  }));
  findings.push_back(
      attempt("memory plan", "see octet plan -m DIR", [&] { return plan_finding(model, run, ranks, machine); }));
  return findings;
}

}  // namespace octet
