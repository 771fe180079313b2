// A bump allocator with scopes for step-local host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace octet {

/// Hands out 64-byte aligned memory that is given back when the enclosing Scope ends. Grows by whole blocks and keeps
/// them, so a repeated step allocates nothing. Debug builds (OCTET_DEBUG) fill released memory with NaN bytes.
class Arena {
 public:
  /// Gives back everything allocated during its life.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(&arena), block_(arena.block_), used_(arena.used_) {}
    ~Scope() { arena_->release_to(block_, used_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena* arena_;
    size_t block_;
    int64_t used_;
  };

  void* allocate(int64_t bytes);
  [[nodiscard]] Scope scope() { return Scope(*this); }
  /// Bytes held in blocks: the high-water mark.
  int64_t capacity_bytes() const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  struct Block {
    std::unique_ptr<std::byte[], Free> memory;
    int64_t bytes;
  };
  void release_to(size_t block, int64_t used);

  std::vector<Block> blocks_;
  size_t block_ = 0;  ///< block that is being filled
  int64_t used_ = 0;  ///< bytes of it in use
};

}  // namespace octet
