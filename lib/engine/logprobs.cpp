// See logprobs.h.
#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace octet {

TokenLogprobs token_logprobs(std::span<const float> logits, TokenId drawn, int32_t count) {
  constexpr double kLogOfZero = -9999;
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
  const double log_sum = largest + std::log(sum);
  const auto logprob = [&](TokenId id) {
    const double exact = static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum;
    return std::isinf(exact) ? kLogOfZero : exact;
  };

  std::vector<TokenId> ids(count > 0 ? logits.size() : 0);
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(count > 0 ? count : 0, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  TokenLogprobs found{.logprob = logprob(drawn), .top = {}};
  for (auto id = ids.begin(); id != end; ++id) found.top.emplace_back(*id, logprob(*id));
  return found;
}

}  // namespace octet
