// See replica_audit.h.
#include "comm/replica_audit.h"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "comm/breadcrumbs.h"
#include "comm/collectives.h"
#include "comm/mpi_handle.h"
#include "comm/timed.h"
#include "kernels/cpu/context.h"

namespace octet::comm {
namespace {

/// FNV-1a over words of eight bytes: any single damaged word changes it.
uint64_t hash_of(std::initializer_list<std::span<const std::byte>> parts) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::span<const std::byte> part : parts) {
    for (size_t i = 0; i < part.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, part.data() + i, std::min(sizeof word, part.size() - i));
      hash = (hash ^ word) * 0x100000001b3u;
    }
  }
  return hash;
}

/// The value most ranks hold; of equally many, the lowest rank's.
uint64_t majority(const std::vector<uint64_t>& hashes) {
  return *std::max_element(hashes.begin(), hashes.end(), [&](uint64_t a, uint64_t b) {
    return std::count(hashes.begin(), hashes.end(), a) < std::count(hashes.begin(), hashes.end(), b);
  });
}

}  // namespace

void audit_replicas(cpu::Context& ctx, std::initializer_list<std::span<const std::byte>> parts, const Site& site,
                    std::string_view form) {
  if (ranks(ctx) == 1) return;
  const Timed timed(*ctx.comm, {Collective::kAgreement, site});
  const uint64_t own = hash_of(parts);
  std::vector<uint64_t> all(static_cast<size_t>(ctx.comm->size()));
  check(MPI_Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, ctx.comm->handle().ranks),
        "compare the replicas of a sum");
  const uint64_t common = majority(all);
  std::vector<int> others;
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r] != common) others.push_back(static_cast<int>(r));
  }
  if (others.empty()) return;
  throw Error(Code::kSelfCheck,
              fmt::format("the ranks hold different sums at {} ({}): {} of {} differ from the others. A sum was not "
                          "exchanged, or memory is damaged; results of this run cannot be trusted",
                          site_text(site), form, rank_list(others), all.size()));
}

}  // namespace octet::comm
