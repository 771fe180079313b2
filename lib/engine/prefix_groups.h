// Which prompts begin alike, found in one pass over them and with the memory of a few prompts.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "model/batch.h"

namespace octet {

/// The shortest prefix worth a sequence of its own, in tokens: forking copies the rings of every layer.
inline constexpr int64_t kShortestPrefix = 64;

/// Sorts prompts into groups with a common prefix, greedily: a prompt joins the recent group with which it shares most,
/// if that is at least kShortestPrefix tokens and half of what the group shares so far; else it begins a group. Depends
/// on nothing but the prompts and their order.
class PrefixGroups {
 public:
  struct Group {
    int64_t length = 0;   ///< tokens that all members share, less than the shortest member's
    int64_t members = 0;  ///< a group of one shares nothing
  };

  /// The group of the next prompt.
  int32_t add(std::span<const TokenId> prompt);
  const Group& group(int32_t id) const { return groups_[static_cast<size_t>(id)]; }
  int64_t size() const { return static_cast<int64_t>(groups_.size()); }

 private:
  /// A group that can still grow, and its first prompt as far as it is shared.
  struct Open {
    int32_t id;
    std::vector<TokenId> tokens;
  };

  std::list<Open> open_;  ///< the one joined last goes first
  std::vector<Group> groups_;
};

}  // namespace octet
