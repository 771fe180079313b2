// See prefix_groups.h.
#include "engine/prefix_groups.h"

#include <algorithm>

namespace octet {
namespace {

constexpr size_t kOpenGroups = 8;

int64_t common_length(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

int32_t PrefixGroups::add(std::span<const TokenId> prompt) {
  const auto own_most = static_cast<int64_t>(prompt.size()) - 1;  // a sequence feeds at least one token itself
  auto best = open_.end();
  int64_t best_length = 0;
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    const int64_t length = std::min(common_length(prompt, open->tokens), own_most);
    const Group& group = groups_[static_cast<size_t>(open->id)];
    const int64_t least = std::max(kShortestPrefix, group.length / 2);
    if (length < least || length <= best_length) continue;
    best = open;
    best_length = length;
  }
  if (best == open_.end()) {
    const auto id = static_cast<int32_t>(groups_.size());
    groups_.push_back({.length = own_most, .members = 1});
    open_.push_front({id, {prompt.begin(), prompt.end()}});
    if (open_.size() > kOpenGroups) open_.pop_back();
    return id;
  }
  Group& group = groups_[static_cast<size_t>(best->id)];
  group.length = std::min(group.length, best_length);
  ++group.members;
  best->tokens.resize(static_cast<size_t>(group.length));
  open_.splice(open_.begin(), open_, best);
  return best->id;
}

}  // namespace octet
