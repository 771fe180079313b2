// What a rank tells its watchers about the collectives it enters and leaves, and how watchers read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/test_fault.h"

namespace octet::comm {

/// A collective as a user reads it.
/// kInt8AllReduce: through peer memory, with a time-out of its own.
enum class Collective : uint8_t {
  kAllReduce,
  kInt8AllReduce,
  kAllGather,
  kGather,
  kBroadcast,
  kBarrier,
  kAgreement,
  kHandOver
};

/// Where in the program a collective stands.
struct Place {
  Collective what = Collective::kAgreement;
  std::optional<Site> site = {};  ///< empty: outside the layers
};

/// One rank's breadcrumbs, in memory that all ranks of its node map. The rank writes, the others read; each word stands
/// for itself, so relaxed stores are enough.
struct Breadcrumbs {
  std::atomic<uint64_t> moves{0};      ///< collectives entered + left: odd while inside one
  std::atomic<uint64_t> place{0};      ///< packed Place of the collective last entered
  std::atomic<int64_t> step{0};        ///< steps begun
  std::atomic<uint64_t> heartbeat{0};  ///< counts up while the process runs at all
  std::atomic<int32_t> process{0};     ///< its process id
  std::atomic<int32_t> world_rank{0};
  std::atomic<int32_t> stage{0};     ///< of the pipeline
  std::atomic<int32_t> failing{0};   ///< 1: has an error of its own, the failure funnel deals with it
  std::atomic<int32_t> speaker{-1};  ///< in the first rank's: who prints the message of this node
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int32_t>::is_always_lock_free);

uint64_t pack(const Place& place);
Place unpack(uint64_t word);

/// A rank as a watcher sees it.
struct RankView {
  enum class Process { kRuns, kStopped, kGone };
  int rank = 0;
  int stage = 0;
  uint64_t moves = 0;
  Place place = {};
  int64_t step = 0;
  Process process = Process::kRuns;
};

/// The sentence about a hang, for people: "rank 5 has not entered all-reduce #1873 (layer 20, ffn) for 30 s; ranks 0-4,
/// 6, 7 wait there ...", with what is known of rank 5 and what to do. `ranks`: those of this node; `own`: the watcher's
/// index, which is inside a collective; `world`: ranks of the whole run.
std::string hang_message(const std::vector<RankView>& ranks, size_t own, int world, double seconds);

/// Whether a rank of this node keeps `own` waiting (it is behind, stopped or gone); else all wait for another node, or
/// for a message that does not arrive.
bool culprit_is_here(const std::vector<RankView>& ranks, size_t own);

/// "rank 5", "ranks 0-4, 6, 7"; ascending order wanted.
std::string rank_list(const std::vector<int>& ranks);

}  // namespace octet::comm
