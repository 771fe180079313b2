// Owner of MPI for the whole process: initialise, finalise, who am I, and the funnel that turns a failure on any rank
// into one message and one exit code on all of them. The first object in main, so the last one destroyed. No MPI header
// here: comm/mpi_handle.h shows the communicators to the other files of this folder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace octet::comm {

struct MpiHandle;
class Watchdog;

/// An Error that every rank throws together, with the code and sentence of the first rank that failed. Rank 0 prints
/// it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// MPI from construction to destruction. Works without a launcher too: one rank. Every member that says "collective"
/// must be reached by all ranks. A failing MPI call is Error{kEnvironment}.
class MpiSession {
 public:
  /// Initialises MPI (FUNNELED: only the main thread may call it); argc and argv lose what MPI takes for itself.
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Collective.
  void barrier();
  /// Collective: true on every rank when `ok` is true on every rank.
  bool agree(bool ok);
  /// Collective, after a step that can fail on one rank alone: returns when no rank failed, else throws the same
  /// AgreedError everywhere (the lowest failing rank's; its rank is named unless it is 0).
  void share_failure(const std::optional<Error>& own);

  /// Collective: runs step() on every rank, then share_failure() with what it threw.
  template <class Step>
  void funnel(Step&& step) {
    std::optional<Error> failure;
    try {
      std::forward<Step>(step)();
    } catch (const std::exception& e) {
      failure = as_error(e);
    }
    share_failure(failure);
  }

  /// Collective: rank 0's bytes on every rank.
  void broadcast(void* data, size_t bytes);
  /// Collective: rank 0's text on every rank, whatever the others held.
  void broadcast(std::string& text);
  /// Collective: `own` of every rank, in rank order, on every rank; all ranks give the same count.
  std::vector<double> all_gather(std::span<const double> own);

  /// Collective: the text of every rank, in rank order, on every rank.
  std::vector<std::string> gather_texts(const std::string& own);

  /// For an error that was not agreed on: waits a moment for the other ranks to fail too. Returns rank 0's code when
  /// all did, so that every rank can return it and rank 0 print; nothing when some are busy elsewhere (then print,
  /// abort).
  std::optional<Code> meet_failing(Code own);
  /// Ends every rank at once with this exit code. For errors that the other ranks do not know of.
  [[noreturn]] void abort(Code code);

  /// Collective: from now on a rank that keeps the others waiting longer than this ends the run with 8, wherever a
  /// Watchdog::Armed lives. The first call counts; nothing to do for one rank. `stage`: this rank's, of the pipeline.
  void watch(double timeout_seconds, int stage = 0);
  /// Whether a rank of this host has said that the run hangs, and the run is being ended.
  bool hang_was_reported() const;
  /// Ends this process with 8 at once; the sentence is printed unless a rank of this host has printed another one.
  [[noreturn]] void end_hanging(const std::string& sentence);
  /// Null before watch(), and with one rank.
  Watchdog* watchdog() const { return watchdog_.get(); }

  /// The communicators (comm/mpi_handle.h), for the collectives of this folder.
  const MpiHandle& handle() const { return *handle_; }

  /// What was thrown, as an Error: itself, kMemory for std::bad_alloc, kInternal for the rest.
  static Error as_error(const std::exception& thrown);

 private:
  std::unique_ptr<MpiHandle> handle_;
  std::unique_ptr<Watchdog> watchdog_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace octet::comm
