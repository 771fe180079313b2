// Requests for every rank's scheduler, as it has room for them: rank 0 makes them, all ranks get the same.
#pragma once

#include <cstdint>

#include "comm/mpi_session.h"
#include "engine/item_feed.h"
#include "engine/scheduler.h"

namespace octet {

class RequestSource {
 public:
  /// `feed` on rank 0, null elsewhere. The scheduler is kept at `low_water` waiting requests or more while there are
  /// any.
  RequestSource(ItemFeed* feed, int64_t low_water, comm::MpiSession& session)
      : feed_(feed), low_water_(low_water), session_(session) {}

  /// Collective, before every step: adds requests if the scheduler runs low. Whether it does, is the same on all ranks.
  void refill(Scheduler& scheduler);

 private:
  ItemFeed* feed_;
  int64_t low_water_;
  comm::MpiSession& session_;
  bool exhausted_ = false;
};

}  // namespace octet
