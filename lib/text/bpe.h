// Byte-pair merges: one piece of text into token ids. Called by the tokenizer for every piece of the pre-tokenizer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace octet {

/// A rule "the neighbours left, right become result". Its rank is its index in the list of merges.
struct Merge {
  int32_t left;
  int32_t right;
  int32_t result;
};

/// Memory that encode() reuses from piece to piece. One per thread.
struct BpeScratch {
  /// A place in the piece: the token that starts here, its neighbours, and the rank of the pair with the right one.
  struct Node {
    int32_t id;
    int32_t previous;
    int32_t next;
    int32_t rank;
  };
  std::vector<Node> nodes;
  std::vector<uint64_t> heap;
};

/// The merge rules of a byte-level BPE. Immutable after construction.
class Bpe {
 public:
  /// byte_ids: the token of each byte. merges: in order of rank, no pair twice (the caller has checked).
  Bpe(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges);

  /// Appends the tokens of `piece`: starting from its bytes, the adjacent pair of lowest rank, the leftmost of equal
  /// ones, is merged until no adjacent pair has a rule. O(n log n). Error{kInput} for 2 GiB or more.
  void encode(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& ids) const;

 private:
  int32_t rank_of(int32_t left, int32_t right) const;

  std::array<int32_t, 256> byte_ids_;
  std::unordered_map<uint64_t, int32_t> ranks_;  // (left << 32 | right) -> rank
  std::vector<int32_t> results_;                 // by rank
};

}  // namespace octet
