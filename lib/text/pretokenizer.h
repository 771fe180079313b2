// Cuts text into the pieces inside which byte-pair merges may happen: DeepSeek's three Split regexes, by hand.
// Called by the tokenizer for each segment of text between added tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// The pre-tokenizer of DeepSeek V3 and V4. Immutable after construction. Linear in the length of the text.
class PreTokenizer {
 public:
  PreTokenizer();

  /// Appends the pieces of `text` (valid UTF-8) in order. None is empty and their concatenation is `text`.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

  /// The regexes this class implements, in order, as a tokenizer.json spells them.
  static std::span<const std::string_view> regexes();

 private:
  std::vector<uint8_t> classes_;  // flags (char_class) by code point; a flat megabyte, since lookups are the inner loop
};

}  // namespace octet
