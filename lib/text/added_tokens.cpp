// The search narrows a range of the sorted contents byte by byte: no automaton to build, and a place where no token
// begins costs one table look-up. Work per place is bounded by the longest content.
#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

namespace octet {

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.content < b.content; });
  for (const AddedToken& token : tokens_) ++first_[static_cast<uint8_t>(token.content[0]) + size_t{1}];
  for (size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
}

std::optional<AddedTokenFinder::Match> AddedTokenFinder::find(std::string_view text, size_t from) const {
  for (size_t i = from; i < text.size(); ++i) {
    if (const AddedToken* token = longest_at(text, i)) return Match{i, token->content.size(), token->id};
  }
  return std::nullopt;
}

std::optional<int32_t> AddedTokenFinder::id_of(std::string_view content) const {
  const auto found = std::lower_bound(tokens_.begin(), tokens_.end(), content,
                                      [](const AddedToken& token, std::string_view c) { return token.content < c; });
  if (found == tokens_.end() || found->content != content) return std::nullopt;
  return found->id;
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, size_t begin) const {
  const auto lead = static_cast<uint8_t>(text[begin]);
  auto low = tokens_.begin() + first_[lead];
  auto high = tokens_.begin() + first_[lead + size_t{1}];
  const AddedToken* longest = nullptr;
  for (size_t depth = 1; low != high; ++depth) {
    // All of [low, high) share their first `depth` bytes with the text; one that ends here sorts first.
    if (low->content.size() == depth) {
      longest = &*low;
      ++low;
    }
    if (begin + depth >= text.size()) break;
    const auto wanted = static_cast<uint8_t>(text[begin + depth]);
    const auto byte_of = [depth](const AddedToken& t) { return static_cast<uint8_t>(t.content[depth]); };
    low = std::partition_point(low, high, [&](const AddedToken& t) { return byte_of(t) < wanted; });
    high = std::partition_point(low, high, [&](const AddedToken& t) { return byte_of(t) == wanted; });
  }
  return longest;
}

}  // namespace octet
