// Who owns which page (and which slot): integers that are acquired, shared and released. Deterministic, so that every
// rank hands out the same ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// The ids 0 .. size-1 with a count of references each; the lowest free id goes first.
class IdPool {
 public:
  explicit IdPool(int64_t size);

  int64_t size() const { return static_cast<int64_t>(references_.size()); }
  int64_t available() const { return static_cast<int64_t>(free_.size()); }

  /// `count` ids that were free, with one reference each. Precondition: count <= available().
  std::vector<int32_t> acquire(int64_t count);
  /// One more owner of each id. Precondition: none of them is free.
  void retain(std::span<const int32_t> ids);
  /// One owner fewer; an id without owners is free again. Precondition: none of them is free.
  void release(std::span<const int32_t> ids);

 private:
  int32_t& references(int32_t id);

  std::vector<int32_t> references_;
  std::vector<int32_t> free_;  ///< a heap, lowest id first
};

}  // namespace octet
