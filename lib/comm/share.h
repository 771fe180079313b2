// How rows, or blocks, are shared out over ranks. The only such rule of the program: two features that cut the same
// tensor differently would disagree on ragged batches alone.
#pragma once

#include <cstdint>

namespace octet::comm {

/// Indices [first, first + count).
struct Share {
  int64_t first = 0;
  int64_t count = 0;
  bool operator==(const Share&) const = default;
};

/// The part of n things that belongs to `rank`: contiguous, in rank order, sizes differ by at most one, the larger ones
/// first. Empty for the last ranks when n < ranks.
inline Share share_of(int64_t n, int64_t ranks, int64_t rank) {
  const int64_t base = n / ranks, larger = n % ranks;
  return {rank * base + (rank < larger ? rank : larger), base + (rank < larger ? 1 : 0)};
}

}  // namespace octet::comm
