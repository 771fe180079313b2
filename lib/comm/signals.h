// The barrier of ranks that read one another's memory, as a GPU runs it: words in that memory, no call of MPI.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "options/test_fault.h"

namespace octet::comm {

inline constexpr int kMostRanks = 8;  ///< that share a sum
/// Parts of an operation that pass their own barriers: thread blocks on a GPU, one after the other on the CPU.
inline constexpr int kChannels = 4;

/// What is waited for: all addends are there; all shares of the sum are.
enum class Phase { kStart, kEnd };

/// A word on cache lines of its own, so that ranks do not disturb one another.
struct alignas(128) SignalWord {
  std::atomic<uint32_t> value{0};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// A rank's words; zero at first. Those with a last index r are written by rank r alone.
/// Source: spec collectives.md 2.4, with a release store and an acquire load in both phases and epochs that only grow.
struct Signals {
  SignalWord arrived[2][kChannels][kMostRanks];  ///< by phase: the epoch that rank r has reached
  SignalWord announced[kMostRanks];              ///< size of the operation that rank r has begun
  SignalWord gave_up;                            ///< 1 + a rank that waited in vain; all others leave too
};

/// One rank's side of the barrier. All ranks pass the same phases in the same order, kStart and kEnd in turn.
class Barrier {
 public:
  using Seconds = std::chrono::duration<double>;

  /// `signals`: of all ranks, own included, mapped into this process. `first_epoch` is for tests of the wrap-around.
  Barrier(std::vector<Signals*> signals, int rank, Seconds timeout, uint32_t first_epoch = 0);

  /// Begins an operation: tells its size, waits until every rank has begun one, and compares.
  /// Error{kWatchdog} when a rank does not come within the time-out, naming this rank, those missing, channel, phase
  /// and epochs; Error{kSelfCheck} when a rank's operation has another size, with both sizes. `site` is for the
  /// sentence.
  void start(uint32_t size, const std::optional<Site>& site);
  /// Waits until every rank has written its share. Errors as above.
  void end(const std::optional<Site>& site);

 private:
  void pass(Phase phase, const std::optional<Site>& site);
  bool await(Phase phase, int channel);
  [[noreturn]] void give_up(Phase phase, int channel, const std::optional<Site>& site);
  std::vector<int> missing(Phase phase, int channel) const;

  std::vector<Signals*> signals_;
  int rank_;
  Seconds timeout_;
  uint32_t epoch_;  ///< of the operation in progress
};

}  // namespace octet::comm
