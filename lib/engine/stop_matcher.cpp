// Only positions that the new text can complete are searched, so a long completion costs no more per token.
#include "engine/stop_matcher.h"

#include <algorithm>

namespace octet {

bool StopMatcher::append(std::string_view piece) {
  const size_t old_size = text_.size();
  text_ += piece;
  size_t cut = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t overlap = std::min(old_size, stop.size() - 1);
    const size_t start = text_.find(stop, old_size - overlap);
    if (start >= cut) continue;
    cut = start;
    found_ = &stop;
  }
  if (!found_) return false;
  text_.resize(cut);
  return true;
}

}  // namespace octet
