// Which tokens a sequence holds and how often it generated them: what the penalties look at.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/sample.h"
#include "model/batch.h"

namespace octet {

/// One entry per distinct token, in order of first appearance.
class TokenCounts {
 public:
  void add_prompt(std::span<const TokenId> tokens) {
    for (const TokenId token : tokens) entry(token);
  }
  void add_generated(TokenId token) { ++entry(token).generated; }
  const std::vector<ops::TokenCount>& list() const { return list_; }

 private:
  ops::TokenCount& entry(TokenId token) {
    const auto [place, is_new] = places_.try_emplace(token, list_.size());
    if (is_new) list_.push_back({.id = token});
    return list_[place->second];
  }

  std::unordered_map<TokenId, size_t> places_;
  std::vector<ops::TokenCount> list_;
};

}  // namespace octet
