// A CPU collective's life, for the .cpp files of lib/comm only.
#pragma once

#include <chrono>

#include "comm/collectives.h"
#include "comm/mpi_session.h"
#include "comm/watchdog.h"

namespace octet::comm {

/// Adds to the communicator's counts, and shows the watchdog where the rank is.
class Timed {
 public:
  Timed(Communicator& comm, const Place& place) : comm_(comm), trail_(comm.session().watchdog(), place) {
    if (place.what == Collective::kAllReduce || place.what == Collective::kInt8AllReduce)
      comm.count_reduction(place.site);
  }
  ~Timed() { comm_.count(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Communicator& comm_;
  Watchdog::Trail trail_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace octet::comm
