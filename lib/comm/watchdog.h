// Ends a run in which a rank keeps the others waiting: one message that says which rank, at which collective, and exit
// code 8 from all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "comm/breadcrumbs.h"

namespace octet::comm {

struct MpiHandle;

/// A rank's breadcrumbs and the thread that watches those of its node. The thread calls nothing of MPI (FUNNELED): it
/// reads memory, and ends the process with _exit, upon which mpirun ends the other ranks. A rank that waits longer than
/// the time-out speaks; the others of the node see that one has spoken and go too. On several hosts, ranks that only
/// see waiting ones give the culprit's host half a time-out to speak first.
class Watchdog {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Collective: maps the node's breadcrumbs (only its own if MPI has no shared memory) and starts the thread.
  /// `stage`: of the pipeline, this rank's.
  Watchdog(const MpiHandle& mpi, Seconds timeout, int stage);
  /// Collective.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The three below: the main thread only; a few stores each.
  void enter(const Place& place);
  void leave();
  /// This rank has an error: the failure funnel has the word, on all ranks.
  void stand_down() { own_->failing.store(1, std::memory_order_relaxed); }

  /// Whether a rank of this node has printed the message.
  bool has_spoken() const { return node_[0]->speaker.load(std::memory_order_acquire) >= 0; }
  /// For a rank that has waited in vain: one of them prints its sentence, all end.
  [[noreturn]] void end_hanging(const std::string& sentence);

  /// A collective's life: entered and left. Null: nobody watches.
  class Trail {
   public:
    Trail(Watchdog* watchdog, const Place& place) : watchdog_(watchdog) {
      if (watchdog_ != nullptr) watchdog_->enter(place);
    }
    ~Trail() {
      if (watchdog_ != nullptr) watchdog_->leave();
    }
    Trail(const Trail&) = delete;
    Trail& operator=(const Trail&) = delete;

   private:
    Watchdog* watchdog_;
  };

  /// While one lives, a wait of this rank counts: around each step, and around the loop of steps.
  enum class Span { kLoop, kStep };
  class Armed {
   public:
    Armed(Watchdog* watchdog, Span span) : watchdog_(watchdog) {
      if (watchdog_ == nullptr) return;
      ++watchdog_->armed_;
      if (span == Span::kStep) ++watchdog_->own_->step;
    }
    ~Armed() {
      if (watchdog_ != nullptr) --watchdog_->armed_;
    }
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;

   private:
    Watchdog* watchdog_;
  };

 private:
  struct Window;
  void watch(const std::stop_token& stop);
  Seconds patience() const;
  std::vector<RankView> look() const;
  bool speak_if_hanging(Seconds waited);
  bool claim_the_word();

  std::unique_ptr<Window> window_;  ///< the mapped memory
  std::vector<Breadcrumbs*> node_;  ///< of this node's ranks
  Breadcrumbs* own_ = nullptr;
  size_t own_index_ = 0;
  int world_ = 1;
  Seconds timeout_;
  std::vector<std::pair<uint64_t, int>> heartbeats_;  ///< last seen, and ticks since it changed
  std::atomic<int> armed_{0};
  std::jthread thread_;
};

}  // namespace octet::comm
