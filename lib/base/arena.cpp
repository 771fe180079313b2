// Blocks are filled in order; a request that does not fit the current block moves on to the next one large enough.
#include "base/arena.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"

namespace octet {
namespace {
constexpr int64_t kAlignment = 64;
constexpr int64_t kBlockBytes = int64_t{16} << 20;

#ifdef OCTET_DEBUG
constexpr bool kPoison = true;
#else
constexpr bool kPoison = false;
#endif
}  // namespace

void Arena::Free::operator()(std::byte* p) const {
  ::operator delete[](p, std::align_val_t(kAlignment));
}

void* Arena::allocate(int64_t bytes) {
  require(bytes >= 0, "arena: negative size");
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (block_ < blocks_.size() && used_ + rounded > blocks_[block_].bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const int64_t size = std::max(rounded, kBlockBytes);
    auto* p = static_cast<std::byte*>(::operator new[](static_cast<size_t>(size), std::align_val_t(kAlignment)));
    blocks_.push_back({std::unique_ptr<std::byte[], Free>(p), size});
  }
  void* p = blocks_[block_].memory.get() + used_;
  used_ += rounded;
  return p;
}

int64_t Arena::capacity_bytes() const {
  int64_t total = 0;
  for (const Block& b : blocks_) total += b.bytes;
  return total;
}

void Arena::release_to(size_t block, int64_t used) {
  if constexpr (kPoison) {
    for (size_t b = block; b < blocks_.size() && b <= block_; ++b) {
      const int64_t from = b == block ? used : 0;
      const int64_t to = b == block_ ? used_ : blocks_[b].bytes;
      if (to > from) std::memset(blocks_[b].memory.get() + from, 0xff, static_cast<size_t>(to - from));
    }
  }
  block_ = block;
  used_ = used;
}

}  // namespace octet
