// A period that does not hold is found out within a few comparisons, so trying all of them costs little per token.
#include "engine/repetition.h"

#include <algorithm>

namespace octet {

bool repeats_itself(std::span<const TokenId> tokens, int64_t window) {
  constexpr int64_t kRepeats = 4;
  if (window < kRepeats || static_cast<int64_t>(tokens.size()) < window) return false;
  const auto last = tokens.last(static_cast<size_t>(window));
  for (int64_t period = 1; period <= window / kRepeats; ++period) {
    if (std::equal(last.rbegin(), last.rend() - period, last.rbegin() + period)) return true;
  }
  return false;
}

}  // namespace octet
