// Byte-level BPE from a tokenizer.json (the DeepSeek form), both ways.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/utf8.h"  // is_valid_utf8, replace_invalid_utf8

namespace octet {

/// Text <-> token ids. Immutable after construction; all members may be called from several threads.
class Tokenizer {
 public:
  /// Reads DIR/tokenizer.json. Error{kCheckpoint} names the file and what is unexpected in it (another model type,
  /// normaliser or pre-tokenizer than this program implements).
  static Tokenizer from_dir(const std::string& dir);
  /// The same from the text of such a file; `name` stands for the file in error messages.
  static Tokenizer from_json(std::string_view json, std::string_view name);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// Whether added tokens ("<|User|>" and the like) written in the text become their ids.
  enum class AddedTokens { kMatch, kPlainText };
  /// text must be valid UTF-8 (Error{kInput} otherwise). Adds no BOS.
  std::vector<int32_t> encode(std::string_view text, AddedTokens = AddedTokens::kMatch) const;
  /// How many added tokens are written in the text, that is, what kMatch would turn into control tokens.
  int64_t count_added_tokens(std::string_view text) const;
  /// The id of the added token written so, if there is one.
  std::optional<int32_t> added_token_id(std::string_view content) const;

  /// Bytes of one token; empty for a special token when skip_special. Error{kInput} for an id outside the vocabulary.
  std::string_view token_bytes(int32_t id, bool skip_special) const;
  /// Concatenated bytes made valid UTF-8 (ill-formed maximal subparts become U+FFFD).
  std::string decode(const std::vector<int32_t>& ids, bool skip_special = true) const;

  int64_t vocab_size() const;
  bool is_special(int32_t id) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Streaming detokeniser: the concatenation of all append() and the final flush() equals decode() of all ids.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}
  /// Text completed by this token: every complete character; U+FFFD at once for bytes that can no longer become one.
  std::string append(int32_t id);
  /// U+FFFD for an unfinished tail, else nothing.
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string tail_;
};

}  // namespace octet
