// Memory that the ranks of one host read from one another, and the int8 sum through it: the CPU's version of what a GPU
// does over NVLink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/tensor.h"
#include "comm/signals.h"
#include "kernels/int8_exchange.h"

namespace octet::comm {

struct StageHandle;

class PeerMemory {
 public:
  /// Collective over the stage's ranks: memory for sums of at most `most_blocks` blocks; null on every rank when they
  /// are not on one host, or its shared memory (/dev/shm) has no room. `timeout`: of every wait, in seconds.
  static std::unique_ptr<PeerMemory> map(const StageHandle& stage, int rank, int ranks, int64_t most_blocks,
                                         double timeout);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// Collective: what all_reduce_int8 promises. Errors: those of Barrier; after one, the memory must not be used again.
  void sum_int8(const int8::Rows& out, Mat<const float> x, const std::optional<Site>& site);

  int64_t most_blocks() const { return layout_.most_blocks; }
  /// This rank's exchange memory, signals excluded.
  int64_t bytes() const { return layout_.bytes; }

 private:
  struct Window;
  PeerMemory(std::unique_ptr<Window> window, int rank, const int8::ExchangeLayout& layout, double timeout);
  int8_t* codes(size_t rank, int64_t offset) const { return reinterpret_cast<int8_t*>(memory_[rank] + offset); }
  bf16* scales(size_t rank, int64_t offset) const { return reinterpret_cast<bf16*>(memory_[rank] + offset); }
  void sum_share(int64_t blocks);
  void gather(const int8::Rows& out) const;

  std::unique_ptr<Window> window_;
  int8::ExchangeLayout layout_;
  std::vector<std::byte*> memory_;  ///< of every rank
  size_t rank_;
  Barrier barrier_;
};

}  // namespace octet::comm
