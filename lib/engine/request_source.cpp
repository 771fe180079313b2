// See request_source.h.
#include "engine/request_source.h"

#include <string>
#include <utility>

#include "engine/request_wire.h"

namespace octet {

void RequestSource::refill(Scheduler& scheduler) {
  if (exhausted_ || scheduler.waiting() >= low_water_) return;
  std::string bytes;  // the requests, then whether these were the last
  session_.funnel([&] {
    if (!feed_) return;
    bytes = pack_requests(feed_->next(low_water_));
    bytes.push_back(feed_->exhausted() ? '\1' : '\0');
  });
  session_.broadcast(bytes);
  exhausted_ = bytes.back() != '\0';
  bytes.pop_back();
  for (Request& request : unpack_requests(bytes)) scheduler.add(std::move(request));
}

}  // namespace octet
