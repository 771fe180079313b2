// Puts the tokenizer together: added tokens are cut out, the rest is pre-tokenized, each piece goes through the merges.
// The engine calls this per request; nothing here is shared but immutable tables.
#include "text/tokenizer.h"

#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pretokenizer.h"
#include "text/vocabulary.h"

namespace octet {

struct Tokenizer::Impl {
  explicit Impl(Vocabulary vocabulary)
      : token_bytes(std::move(vocabulary.token_bytes)),
        special(std::move(vocabulary.special)),
        added(std::move(vocabulary.added)),
        bpe(vocabulary.byte_ids, vocabulary.merges) {}

  size_t index_of(int32_t id) const {
    if (id >= 0 && static_cast<size_t>(id) < token_bytes.size()) return static_cast<size_t>(id);
    throw Error(Code::kInput,
                fmt::format("token id {} is outside the vocabulary of {} tokens", id, token_bytes.size()));
  }

  std::vector<std::string> token_bytes;
  std::vector<bool> special;
  AddedTokenFinder added;
  PreTokenizer pre_tokenizer;
  Bpe bpe;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::from_dir(const std::string& dir) {
  const std::string path = dir + "/tokenizer.json";
  std::ifstream file(path, std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(Code::kCheckpoint, fmt::format("{}: cannot be read", path));
  return from_json(json, path);
}

Tokenizer Tokenizer::from_json(std::string_view json, std::string_view name) {
  return Tokenizer(std::make_unique<Impl>(read_vocabulary(json, name)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, AddedTokens added_tokens) const {
  if (!is_valid_utf8(text)) throw Error(Code::kInput, "a text to tokenize is no valid UTF-8");
  std::vector<int32_t> ids;
  std::vector<std::string_view> pieces;
  BpeScratch scratch;
  const auto encode_plain = [&](std::string_view segment) {
    pieces.clear();
    impl_->pre_tokenizer.split(segment, pieces);
    for (const std::string_view piece : pieces) impl_->bpe.encode(piece, scratch, ids);
  };

  size_t done = 0;
  while (added_tokens == AddedTokens::kMatch) {
    const auto match = impl_->added.find(text, done);
    if (!match) break;
    encode_plain(text.substr(done, match->begin - done));
    ids.push_back(match->id);
    done = match->begin + match->length;
  }
  encode_plain(text.substr(done));
  return ids;
}

int64_t Tokenizer::count_added_tokens(std::string_view text) const {
  int64_t count = 0;
  size_t from = 0;
  while (const auto match = impl_->added.find(text, from)) {
    ++count;
    from = match->begin + match->length;
  }
  return count;
}

std::optional<int32_t> Tokenizer::added_token_id(std::string_view content) const {
  return impl_->added.id_of(content);
}

std::string_view Tokenizer::token_bytes(int32_t id, bool skip_special) const {
  const size_t index = impl_->index_of(id);
  if (skip_special && impl_->special[index]) return {};
  return impl_->token_bytes[index];
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special) const {
  std::string bytes;
  for (const int32_t id : ids) bytes += token_bytes(id, skip_special);
  return replace_invalid_utf8(bytes);
}

int64_t Tokenizer::vocab_size() const {
  return static_cast<int64_t>(impl_->token_bytes.size());
}

bool Tokenizer::is_special(int32_t id) const {
  return impl_->special[impl_->index_of(id)];
}

}  // namespace octet
