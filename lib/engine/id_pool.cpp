// A binary heap of the free ids: acquiring and releasing cost a logarithm, and the order of hand-out does not depend on
// the order of release.
#include "engine/id_pool.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace octet {

IdPool::IdPool(int64_t size) : references_(static_cast<size_t>(size), 0), free_(static_cast<size_t>(size)) {
  for (size_t i = 0; i < free_.size(); ++i) free_[i] = static_cast<int32_t>(i);  // ascending: a valid heap
}

std::vector<int32_t> IdPool::acquire(int64_t count) {
  require(count <= available(), "more ids are asked for than are free");
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) {
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    id = free_.back();
    free_.pop_back();
    references(id) = 1;
  }
  return ids;
}

void IdPool::retain(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    require(references(id) > 0, "an id that is free is retained");
    ++references(id);
  }
}

void IdPool::release(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    require(references(id) > 0, "an id that is free is released");
    if (--references(id) > 0) continue;
    free_.push_back(id);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }
}

int32_t& IdPool::references(int32_t id) {
  require(id >= 0 && id < size(), "an id of another pool");
  return references_[static_cast<size_t>(id)];
}

}  // namespace octet
