// Finds added tokens ("<|User|>" and the like) in text. The tokenizer cuts them out before it pre-tokenizes the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Text that stands for one token wherever it is written.
struct AddedToken {
  std::string content;  ///< not empty
  int32_t id;
};

/// Leftmost search for a set of strings; the longest one where several begin. Immutable after construction.
class AddedTokenFinder {
 public:
  struct Match {
    size_t begin;
    size_t length;
    int32_t id;
  };

  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// The first match at or after byte `from`.
  std::optional<Match> find(std::string_view text, size_t from) const;
  /// The id whose content is exactly this.
  std::optional<int32_t> id_of(std::string_view content) const;

 private:
  const AddedToken* longest_at(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;     // sorted by content
  std::array<uint32_t, 257> first_{};  // tokens_[first_[b] .. first_[b + 1]) begin with byte b
};

}  // namespace octet
