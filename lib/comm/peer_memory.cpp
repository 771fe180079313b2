// Why two barriers are enough: a rank's addend is overwritten by the next sum's encoding, which begins after this sum's
// END, when every peer has read it. Its share of the sum is overwritten after the next START, to which every peer comes
// only after it has copied the shares of this one.
#include "comm/peer_memory.h"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "comm/mpi_handle.h"
#include "comm/share.h"

namespace octet::comm {
namespace {

using int8::kBlock;

constexpr size_t kAlignment = alignof(Signals);
constexpr MPI_Aint kPageBytes = 4096;

/// Mappings begin on pages, so that this gives the same place of a segment in every process.
std::byte* aligned(void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return static_cast<std::byte*>(pointer) + ((kAlignment - address % kAlignment) % kAlignment);
}

/// Whether the host's shared memory has room. Open MPI does not say that it has none: it hangs. A container's is often
/// 64 MiB.
bool has_room(int64_t bytes) {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space("/dev/shm", unknown);
  return unknown || space.available > static_cast<uintmax_t>(bytes);
}

}  // namespace

/// The shared segment of the stage's ranks: each has [Signals][exchange memory].
struct PeerMemory::Window {
  MPI_Win win = MPI_WIN_NULL;
  std::vector<std::byte*> segments;

  Window() = default;
  /// Freeing is collective: not while an error unwinds, for the other ranks may never come. Such a process ends.
  ~Window() {  // a destructor never throws: the status is ignored
    if (std::uncaught_exceptions() > 0) return;
    if (win != MPI_WIN_NULL) MPI_Win_free(&win);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
};

std::unique_ptr<PeerMemory> PeerMemory::map(const StageHandle& stage, int rank, int ranks, int64_t most_blocks,
                                            double timeout) {
  const int8::ExchangeLayout layout(most_blocks, ranks);
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(stage.ranks, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host),
        "find the ranks of this host");
  MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);
  int neighbours = 0;
  check(MPI_Comm_size(host, &neighbours), "count the ranks of this host");
  auto window = std::make_unique<Window>();
  const MPI_Aint bytes =
      (static_cast<MPI_Aint>(sizeof(Signals) + kAlignment) + layout.bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const int possible = neighbours == ranks && has_room(bytes * ranks) ? 1 : 0;
  int usable = 0;
  check(MPI_Allreduce(&possible, &usable, 1, MPI_INT, MPI_MIN, stage.ranks), "agree on peer memory");
  if (usable == 1) {
    void* own = nullptr;
    usable = MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, host, &own, &window->win) == MPI_SUCCESS ? 1 : 0;
    for (int r = 0; usable == 1 && r < ranks; ++r) {
      MPI_Aint segment_bytes = 0;
      int unit = 0;
      void* segment = nullptr;
      usable = MPI_Win_shared_query(window->win, r, &segment_bytes, &unit, &segment) == MPI_SUCCESS ? 1 : 0;
      window->segments.push_back(aligned(segment));
    }
  }
  MPI_Comm_free(&host);
  int all = 0;
  check(MPI_Allreduce(&usable, &all, 1, MPI_INT, MPI_MIN, stage.ranks), "agree on peer memory");
  if (all == 0) return nullptr;
  new (window->segments[static_cast<size_t>(rank)]) Signals;
  check(MPI_Barrier(stage.ranks), "pass a barrier");
  return std::unique_ptr<PeerMemory>(new PeerMemory(std::move(window), rank, layout, timeout));
}

PeerMemory::PeerMemory(std::unique_ptr<Window> window, int rank, const int8::ExchangeLayout& layout, double timeout)
    : window_(std::move(window)),
      layout_(layout),
      rank_(static_cast<size_t>(rank)),
      barrier_(
          [&] {
            std::vector<Signals*> signals;
            for (std::byte* segment : window_->segments) signals.push_back(reinterpret_cast<Signals*>(segment));
            return signals;
          }(),
          rank, Barrier::Seconds(timeout)) {
  for (std::byte* segment : window_->segments) memory_.push_back(segment + sizeof(Signals));
}

PeerMemory::~PeerMemory() = default;

void PeerMemory::sum_int8(const int8::Rows& out, Mat<const float> x, const std::optional<Site>& site) {
  const int64_t blocks = out.blocks();
  require(blocks <= layout_.most_blocks,
          fmt::format("an int8 sum of {} blocks, and exchange memory for {}", blocks, layout_.most_blocks));
  int8_t* q = codes(rank_, 0);
  bf16* scale = scales(rank_, layout_.scales);
  for (int64_t b = 0; b < blocks; ++b) scale[b] = int8::encode(q + b * kBlock, x.data + b * kBlock);
  barrier_.start(static_cast<uint32_t>(blocks), site);
  sum_share(blocks);
  barrier_.end(site);
  gather(out);
}

/// This rank's blocks: the addends of all ranks, read where they lie, in rank order.
void PeerMemory::sum_share(int64_t blocks) {
  const auto ranks = static_cast<int64_t>(memory_.size());
  const Share own = share_of(blocks, ranks, static_cast<int64_t>(rank_));
  for (int64_t i = 0; i < own.count; ++i) {
    const int64_t b = own.first + i;
    double sum[kBlock] = {};
    for (size_t r = 0; r < memory_.size(); ++r) {
      int8::add_decoded(sum, codes(r, 0) + b * kBlock, scales(r, layout_.scales)[b]);
    }
    scales(rank_, layout_.sum_scales)[i] = int8::encode_sum(codes(rank_, layout_.sum_codes) + i * kBlock, sum);
  }
}

void PeerMemory::gather(const int8::Rows& out) const {
  const auto ranks = static_cast<int64_t>(memory_.size());
  for (size_t r = 0; r < memory_.size(); ++r) {
    const Share share = share_of(out.blocks(), ranks, static_cast<int64_t>(r));
    std::copy_n(codes(r, layout_.sum_codes), share.count * kBlock, out.q.data + share.first * kBlock);
    std::copy_n(scales(r, layout_.sum_scales), share.count, out.scale.data + share.first);
  }
}

}  // namespace octet::comm
