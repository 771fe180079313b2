// Byte-pair merges over a linked list with a heap of candidate pairs, so that a piece of a million bytes stays cheap.
#include "text/bpe.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/error.h"

namespace octet {
namespace {

constexpr int32_t kNone = -1;

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// Orders candidates by rank, then from left to right.
uint64_t heap_key(int32_t rank, int32_t position) {
  return pair_key(rank, position);
}

}  // namespace

Bpe::Bpe(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges) : byte_ids_(byte_ids) {
  ranks_.reserve(merges.size());
  results_.reserve(merges.size());
  for (const Merge& merge : merges) {
    ranks_.emplace(pair_key(merge.left, merge.right), static_cast<int32_t>(results_.size()));
    results_.push_back(merge.result);
  }
}

int32_t Bpe::rank_of(int32_t left, int32_t right) const {
  const auto found = ranks_.find(pair_key(left, right));
  return found == ranks_.end() ? kNone : found->second;
}

void Bpe::encode(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& ids) const {
  if (piece.size() > std::numeric_limits<int32_t>::max()) throw Error(Code::kInput, "a word of 2 GiB or more");
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  const auto size = static_cast<int32_t>(piece.size());
  const auto at = [&](int32_t i) -> BpeScratch::Node& { return nodes[static_cast<size_t>(i)]; };

  nodes.resize(piece.size());
  for (int32_t i = 0; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(piece[static_cast<size_t>(i)]);
    at(i) = {byte_ids_[byte], i - 1, i + 1 < size ? i + 1 : kNone, kNone};
  }

  heap.clear();
  const auto rank_pair_at = [&](int32_t i) {
    BpeScratch::Node& node = at(i);
    node.rank = node.next == kNone ? kNone : rank_of(node.id, at(node.next).id);
    return node.rank != kNone;
  };
  for (int32_t i = 0; i < size; ++i) {
    if (rank_pair_at(i)) heap.push_back(heap_key(at(i).rank, i));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push_pair_at = [&](int32_t i) {
    if (!rank_pair_at(i)) return;
    heap.push_back(heap_key(at(i).rank, i));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto rank = static_cast<int32_t>(heap.back() >> 32);
    const auto position = static_cast<int32_t>(heap.back() & 0xFFFFFFFF);
    heap.pop_back();
    BpeScratch::Node& node = at(position);
    if (node.rank != rank) continue;  // this pair was changed by a merge since it was pushed

    BpeScratch::Node& absorbed = at(node.next);
    absorbed.rank = kNone;  // its own pair is gone, and so are the heap entries for it
    node.id = results_[static_cast<size_t>(rank)];
    node.next = absorbed.next;
    if (node.next != kNone) at(node.next).previous = position;
    push_pair_at(position);
    if (node.previous != kNone) push_pair_at(node.previous);
  }

  for (int32_t i = size == 0 ? kNone : 0; i != kNone; i = at(i).next) ids.push_back(at(i).id);
}

}  // namespace octet
