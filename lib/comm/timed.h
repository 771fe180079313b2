// A CPU collective's life, for the .cpp files of lib/comm only.
#pragma once

#include <chrono>

#include "comm/collectives.h"
#include "comm/mpi_session.h"
#include "comm/watchdog.h"

namespace octet::comm {

/// Adds to the communicator's seconds and reductions, and shows the watchdog where the rank is.
class Timed {
 public:
  Timed(Communicator& comm, const Place& place)
      : comm_(comm), reductions_(place.what == Collective::kAllReduce), trail_(comm.session().watchdog(), place) {}
  ~Timed() {
    comm_.count(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(), reductions_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Communicator& comm_;
  int64_t reductions_;
  Watchdog::Trail trail_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace octet::comm
