// What every test on several ranks uses: the session that main() started, a context with a communicator, and checks
// that all ranks hold the same bytes. All ranks run all tests in the same order, so a test may communicate freely; it
// compares after its last collective, because a rank that leaves early would leave the others waiting.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/collectives.h"
#include "comm/mpi_session.h"
#include "kernels/cpu/context.h"

namespace octet::test {

/// The session that main() owns.
comm::MpiSession& session();

inline bool is_root() {
  return session().rank() == 0;
}

/// A rank's context, as the CPU runner makes it.
struct RankContext {
  comm::Communicator comm{session()};
  cpu::Context ctx;
  explicit RankContext(Numerics numerics = Numerics::kExact) {
    ctx.numerics = numerics;
    ctx.comm = &comm;
  }
  RankContext(const RankContext&) = delete;
  RankContext& operator=(const RankContext&) = delete;
};

/// FNV-1a of some bytes, cut to the 53 bits that a double holds.
inline double hash_of(std::span<const std::byte> bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const std::byte b : bytes) h = (h ^ std::to_integer<uint64_t>(b)) * 0x100000001b3u;
  return static_cast<double>(h >> 11);
}
template <class Array>
double hash_of_array(const Array& a) {
  return hash_of(std::as_bytes(std::span(a.begin(), static_cast<size_t>(a.size()))));
}

/// Collective: whether every rank gives the same values. Names the first rank that differs from rank 0.
inline testing::AssertionResult same_on_all_ranks(const std::vector<double>& own) {
  const std::vector<double> all = session().all_gather(own);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == all[i % own.size()]) continue;
    return testing::AssertionFailure() << "rank " << i / own.size() << " differs from rank 0 at " << i % own.size();
  }
  return testing::AssertionSuccess();
}
inline testing::AssertionResult same_on_all_ranks(double own) {
  return same_on_all_ranks(std::vector<double>{own});
}

}  // namespace octet::test
