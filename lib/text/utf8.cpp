// UTF-8 classification after the table of well-formed byte sequences of the Unicode standard (chapter 3, table 3-7).
// Used by the tokenizer at its borders: text in (validity), bytes out (replacement).
#include "text/utf8.h"

#include <cstdint>

namespace octet {
namespace {

/// How many bytes follow a lead byte and what the first of them may be. count 0: no lead byte at all.
struct LeadByte {
  size_t count;
  uint8_t second_min;
  uint8_t second_max;
};

LeadByte lead_byte(uint8_t byte) {
  if (byte < 0xC2) return {0, 0, 0};  // continuation bytes, and C0/C1 that only overlong forms start with
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};  // below: overlong
  if (byte == 0xED) return {2, 0x80, 0x9F};  // above: surrogates
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};  // below: overlong
  if (byte < 0xF4) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};  // above: past U+10FFFF
  return {0, 0, 0};
}

}  // namespace

Utf8Front utf8_front(std::string_view bytes) {
  using enum Utf8Front::Kind;
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (at(0) < 0x80) return {kCharacter, 1};
  const LeadByte lead = lead_byte(at(0));
  if (lead.count == 0) return {kIllFormed, 1};
  for (size_t i = 1; i <= lead.count; ++i) {
    if (i == bytes.size()) return {kUnfinished, i};
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (at(i) < min || at(i) > max) return {kIllFormed, i};
  }
  return {kCharacter, lead.count + 1};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    if (front.kind != Utf8Front::Kind::kCharacter) return false;
    text.remove_prefix(front.length);
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    const bool good = front.kind == Utf8Front::Kind::kCharacter;
    result += good ? text.substr(0, front.length) : kReplacementCharacter;
    text.remove_prefix(front.length);
  }
  return result;
}

}  // namespace octet
