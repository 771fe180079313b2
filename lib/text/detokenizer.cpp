// The streaming half of decoding: text leaves as soon as its characters are complete. Used per running sequence.
#include "text/tokenizer.h"

namespace octet {

std::string Detokenizer::append(int32_t id) {
  tail_ += tokenizer_->token_bytes(id, skip_special_);
  std::string_view rest = tail_;
  std::string text;
  while (!rest.empty()) {
    const Utf8Front front = utf8_front(rest);
    if (front.kind == Utf8Front::Kind::kUnfinished) break;
    const bool good = front.kind == Utf8Front::Kind::kCharacter;
    text += good ? rest.substr(0, front.length) : kReplacementCharacter;
    rest.remove_prefix(front.length);
  }
  tail_.erase(0, tail_.size() - rest.size());
  return text;
}

std::string Detokenizer::flush() {
  std::string text = replace_invalid_utf8(tail_);
  tail_.clear();
  return text;
}

}  // namespace octet
