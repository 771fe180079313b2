// Reads and checks a tokenizer.json. Every member that could change the ids of a text is compared with what lib/text
// implements; members without influence (offsets, the decoder's flags) are not looked at.
#include "text/vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/pretokenizer.h"

namespace octet {
namespace {

constexpr size_t kMaxQuotedBytes = 100;
constexpr uint32_t kAlphabetEnd = 0x144;  // one past the last character that stands for a byte

/// The byte that each character of the byte-level alphabet stands for, or -1. Printable Latin-1 stands for itself; the
/// other 68 bytes, in order, are U+0100 and up.
std::array<int16_t, kAlphabetEnd> byte_alphabet() {
  std::array<int16_t, kAlphabetEnd> bytes;
  bytes.fill(-1);
  size_t next_moved = 0x100;
  for (int16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    bytes[printable ? static_cast<size_t>(byte) : next_moved++] = byte;
  }
  return bytes;
}

class VocabularyReader {
 public:
  VocabularyReader(const Json& root, std::string_view name) : root_(root), name_(name) {}

  Vocabulary read() {
    if (!root_.is(Json::Kind::kObject)) fail("is no object");
    expect(root_, "", "truncation", {"null"});
    expect(root_, "", "padding", {"null"});
    check_normalizer();
    check_pre_tokenizer();
    expect(member(root_, "", "decoder"), "decoder.", "type", {"\"ByteLevel\""});
    if (const Json* post = root_.find("post_processor"); post != nullptr && !post->is(Json::Kind::kNull)) {
      expect(*post, "post_processor.", "type", {"\"ByteLevel\""});  // any other kind may add tokens
    }
    check_model();
    read_tokens();
    read_added_tokens();
    finish_ids();
    read_merges();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::string_view sentence) const {
    throw Error(Code::kCheckpoint, fmt::format("{}: {}", name_, sentence));
  }

  static std::string quote(const Json* value) {
    const std::string text = value == nullptr ? "nothing" : value->dump();
    return text.size() <= kMaxQuotedBytes ? text : text.substr(0, kMaxQuotedBytes) + "...";
  }

  const Json& member(const Json& object, std::string_view path, std::string_view key) const {
    const Json* value = object.find(key);
    if (value == nullptr) fail(fmt::format("has no {}{}", path, key));
    return *value;
  }

  /// The member must read as one of the JSON texts `allowed`; an absent member reads as null.
  void expect(const Json& object, std::string_view path, std::string_view key,
              std::initializer_list<std::string_view> allowed) const {
    const Json* value = object.find(key);
    const std::string text = value == nullptr ? "null" : value->dump();
    if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return;
    fail(fmt::format("{}{} must be {}, found {}", path, key, *allowed.begin(), quote(value)));
  }

  const Json& container(const Json& object, std::string_view path, std::string_view key, Json::Kind kind) const {
    const Json& value = member(object, path, key);
    if (!value.is(kind)) {
      const std::string_view wanted = kind == Json::Kind::kArray ? "an array" : "an object";
      fail(fmt::format("{}{} must be {}, found {}", path, key, wanted, quote(&value)));
    }
    return value;
  }

  void check_normalizer() const {
    const Json* normalizer = root_.find("normalizer");
    if (normalizer == nullptr || normalizer->is(Json::Kind::kNull)) return;
    expect(*normalizer, "normalizer.", "type", {"\"Sequence\""});
    expect(*normalizer, "normalizer.", "normalizers", {"[]"});
  }

  void check_pre_tokenizer() const {
    const Json& pre_tokenizer = member(root_, "", "pre_tokenizer");
    expect(pre_tokenizer, "pre_tokenizer.", "type", {"\"Sequence\""});
    const auto& steps = container(pre_tokenizer, "pre_tokenizer.", "pretokenizers", Json::Kind::kArray).items;
    const auto regexes = PreTokenizer::regexes();
    if (steps.size() != regexes.size() + 1) {
      fail(fmt::format("pre_tokenizer must have {} steps, found {}", regexes.size() + 1, steps.size()));
    }
    for (size_t i = 0; i < regexes.size(); ++i) {
      const std::string path = fmt::format("pre_tokenizer.pretokenizers[{}].", i);
      expect(steps[i], path, "type", {"\"Split\""});
      expect(steps[i], path, "behavior", {"\"Isolated\""});
      expect(steps[i], path, "invert", {"false"});
      expect(member(steps[i], path, "pattern"), path + "pattern.", "Regex", {Json(regexes[i]).dump()});
    }
    const std::string path = fmt::format("pre_tokenizer.pretokenizers[{}].", regexes.size());
    expect(steps.back(), path, "type", {"\"ByteLevel\""});
    expect(steps.back(), path, "add_prefix_space", {"false"});
    expect(steps.back(), path, "use_regex", {"false"});
  }

  void check_model() const {
    const Json& model = member(root_, "", "model");
    expect(model, "model.", "type", {"\"BPE\""});
    expect(model, "model.", "dropout", {"null"});
    expect(model, "model.", "unk_token", {"null"});
    expect(model, "model.", "continuing_subword_prefix", {"null", "\"\""});
    expect(model, "model.", "end_of_word_suffix", {"null", "\"\""});
    expect(model, "model.", "fuse_unk", {"false", "null"});
    expect(model, "model.", "byte_fallback", {"false", "null"});
    expect(model, "model.", "ignore_merges", {"false", "null"});
  }

  /// Bytes of a token spelled in the byte-level alphabet; nothing if another character occurs in it.
  std::optional<std::string> alphabet_bytes(std::string_view spelled) const {
    std::string bytes;
    for (size_t i = 0; i < spelled.size(); ++i) {
      const auto lead = static_cast<uint8_t>(spelled[i]);
      uint32_t c = lead;
      if (lead >= 0x80) {
        if ((lead & 0xE0) != 0xC0 || ++i == spelled.size()) return std::nullopt;
        c = (lead & 0x1FU) << 6 | (static_cast<uint8_t>(spelled[i]) & 0x3FU);
      }
      if (c >= kAlphabetEnd || alphabet_[c] < 0) return std::nullopt;
      bytes.push_back(static_cast<char>(alphabet_[c]));
    }
    return bytes;
  }

  int32_t id_of(const Json& value, std::string_view token) const {
    const std::optional<int64_t> id = value.as_int();
    if (!id || *id < 0 || *id >= id_limit_) {
      fail(fmt::format("the id of token {} must be an integer from 0 to {}, found {}", token, id_limit_ - 1,
                       quote(&value)));
    }
    return static_cast<int32_t>(*id);
  }

  void read_tokens() {
    const Json& vocab = container(member(root_, "", "model"), "model.", "vocab", Json::Kind::kObject);
    const Json* added = root_.find("added_tokens");
    // Ids have no gaps, so none can be larger than this; the bound keeps a hostile id from sizing our tables.
    const size_t most_tokens = vocab.members.size() + (added == nullptr ? 0 : added->items.size());
    if (most_tokens > static_cast<size_t>(INT32_MAX)) fail("has too many tokens");
    id_limit_ = static_cast<int64_t>(most_tokens);
    used_.resize(most_tokens);
    result_.token_bytes.resize(most_tokens);
    result_.byte_ids.fill(-1);
    ids_.reserve(vocab.members.size());
    for (const auto& [token, value] : vocab.members) {
      const int32_t id = id_of(value, token);
      const auto slot = static_cast<size_t>(id);
      if (used_[slot]) fail(fmt::format("model.vocab has the id {} twice", id));
      used_[slot] = true;
      ids_.emplace(token, id);
      const std::optional<std::string> bytes = alphabet_bytes(token);
      if (bytes && bytes->size() == 1) result_.byte_ids[static_cast<uint8_t>(bytes->front())] = id;
      result_.token_bytes[slot] = bytes ? *bytes : token;  // a control token in the vocabulary stands for its own text
    }
    for (size_t byte = 0; byte < result_.byte_ids.size(); ++byte) {
      if (result_.byte_ids[byte] < 0) fail(fmt::format("model.vocab has no token for the byte {}", byte));
    }
  }

  void read_added_tokens() {
    result_.special.resize(used_.size());
    if (root_.find("added_tokens") == nullptr) return;
    std::unordered_set<std::string_view> contents;
    for (const Json& token : container(root_, "", "added_tokens", Json::Kind::kArray).items) {
      const Json& content = member(token, "added_tokens[].", "content");
      if (!content.is(Json::Kind::kString) || content.text.empty() || !contents.insert(content.text).second) {
        fail(fmt::format("the content of an added token must be a text of its own, found {}", quote(&content)));
      }
      const std::string path = fmt::format("added token {}: ", content.text);
      expect(token, path, "single_word", {"false"});
      expect(token, path, "lstrip", {"false"});
      expect(token, path, "rstrip", {"false"});
      const int32_t id = id_of(member(token, path, "id"), content.text);
      const auto slot = static_cast<size_t>(id);
      const auto in_vocab = ids_.find(content.text);
      const bool agrees = in_vocab == ids_.end() ? !used_[slot] : in_vocab->second == id;
      if (!agrees)
        fail(fmt::format("added token {} has the id {}, which clashes with the vocabulary", content.text, id));
      used_[slot] = true;
      result_.token_bytes[slot] = content.text;
      const Json& special = member(token, path, "special");
      result_.special[slot] = special.is(Json::Kind::kBool) && special.boolean;
      result_.added.push_back({content.text, id});
    }
  }

  /// The tables were sized for the most tokens there can be; tokens that are both in the vocabulary and added leave
  /// unused places at the end. One before the end is a gap.
  void finish_ids() {
    const auto first_unused = std::find(used_.begin(), used_.end(), false);
    if (std::find(first_unused, used_.end(), true) != used_.end()) {
      fail(fmt::format("no token has the id {}, but one has a larger id", first_unused - used_.begin()));
    }
    result_.token_bytes.resize(static_cast<size_t>(first_unused - used_.begin()));
    result_.special.resize(result_.token_bytes.size());
  }

  int32_t merge_part(std::string_view token, size_t rank) const {
    const auto found = ids_.find(token);
    if (found == ids_.end())
      fail(fmt::format("model.merges[{}] needs the token {}, not in the vocabulary", rank, token));
    return found->second;
  }

  void read_merges() {
    const Json& merges = container(member(root_, "", "model"), "model.", "merges", Json::Kind::kArray);
    std::unordered_set<uint64_t> pairs;
    pairs.reserve(merges.items.size());
    result_.merges.reserve(merges.items.size());
    std::string joined;
    for (const Json& merge : merges.items) {
      const size_t rank = result_.merges.size();
      const auto [left, right] = merge_sides(merge, rank);
      joined.assign(left).append(right);
      const Merge ids{merge_part(left, rank), merge_part(right, rank), merge_part(joined, rank)};
      const uint64_t pair = static_cast<uint64_t>(ids.left) << 32 | static_cast<uint64_t>(ids.right);
      if (!pairs.insert(pair).second) fail(fmt::format("model.merges[{}] repeats an earlier one", rank));
      result_.merges.push_back(ids);
    }
  }

  std::pair<std::string_view, std::string_view> merge_sides(const Json& merge, size_t rank) const {
    const std::string_view text = merge.text;
    const size_t space = text.find(' ');
    if (merge.is(Json::Kind::kString) && space != text.npos && text.find(' ', space + 1) == text.npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
    const auto& sides = merge.items;
    if (sides.size() == 2 && sides[0].is(Json::Kind::kString) && sides[1].is(Json::Kind::kString)) {
      return {sides[0].text, sides[1].text};
    }
    fail(fmt::format("model.merges[{}] must be two tokens, found {}", rank, quote(&merge)));
  }

  const Json& root_;
  std::string_view name_;
  const std::array<int16_t, kAlphabetEnd> alphabet_ = byte_alphabet();
  Vocabulary result_;
  std::unordered_map<std::string_view, int32_t> ids_;  // of the vocabulary, as spelled; keys live in root_
  std::vector<bool> used_;
  int64_t id_limit_ = 0;
};

Json parse(std::string_view json, std::string_view name) {
  try {
    return parse_json(json, name);
  } catch (const Error& error) {
    throw Error(Code::kCheckpoint, error.what());
  }
}

}  // namespace

Vocabulary read_vocabulary(std::string_view json, std::string_view name) {
  const Json root = parse(json, name);
  return VocabularyReader(root, name).read();
}

}  // namespace octet
