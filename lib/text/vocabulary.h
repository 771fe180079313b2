// What a tokenizer.json says, checked and in the form the tokenizer works with. The only place that knows that format.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"

namespace octet {

struct Vocabulary {
  std::vector<std::string> token_bytes;  ///< by id, without gaps; tokens are byte strings, not always valid UTF-8
  std::vector<bool> special;             ///< by id: dropped from decoded text on request
  std::vector<AddedToken> added;         ///< contents are distinct
  std::array<int32_t, 256> byte_ids;     ///< the token of each single byte
  std::vector<Merge> merges;             ///< by rank; no pair twice
};

/// Reads a tokenizer.json of the DeepSeek form: byte-level BPE, no normaliser, PreTokenizer's regexes. Merges may be
/// written as "left right" or ["left", "right"]. Error{kCheckpoint} for anything else: it begins with `name` and says
/// which member is unexpected. A file that this program would read differently than its makers meant must not pass.
Vocabulary read_vocabulary(std::string_view json, std::string_view name);

}  // namespace octet
