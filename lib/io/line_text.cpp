// JSON itself allows lone surrogate escapes, but no UTF-8 text can hold what they mean.
#include "io/line_text.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "text/utf8.h"

namespace octet {
namespace {

constexpr size_t kEscapeBytes = 6;  // \u12ab

/// The code unit of the \u escape at the front, if there is one.
std::optional<uint32_t> code_unit(std::string_view text) {
  if (text.size() < kEscapeBytes || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  uint32_t unit = 0;
  const char* end = text.data() + kEscapeBytes;
  const auto [stop, status] = std::from_chars(text.data() + 2, end, unit, 16);
  if (status != std::errc() || stop != end) return std::nullopt;
  return unit;
}

bool is_high(std::optional<uint32_t> unit) {
  return unit && *unit >= 0xd800 && *unit <= 0xdbff;
}

bool is_low(std::optional<uint32_t> unit) {
  return unit && *unit >= 0xdc00 && *unit <= 0xdfff;
}

/// Offset of the first byte that is no part of a character.
size_t first_ill_formed(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Front front = utf8_front(bytes.substr(at));
    if (front.kind != Utf8Front::Kind::kCharacter) break;
    at += front.length;
  }
  return at;
}

}  // namespace

RepairedText repair_utf8(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return {std::string(bytes), ""};
  return {replace_invalid_utf8(bytes), fmt::format("byte {} is no UTF-8", first_ill_formed(bytes))};
}

RepairedText repair_json(std::string_view line) {
  RepairedText repaired = repair_utf8(line);
  std::string& text = repaired.text;
  for (size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
    const std::string_view here = std::string_view(text).substr(at);
    const std::optional<uint32_t> unit = code_unit(here);
    if (is_high(unit) && is_low(code_unit(here.substr(kEscapeBytes)))) {
      at += 2 * kEscapeBytes;
    } else if (is_high(unit) || is_low(unit)) {
      if (repaired.problem.empty()) {
        repaired.problem = fmt::format("{} is half of a surrogate pair", here.substr(0, kEscapeBytes));
      }
      text.replace(at, kEscapeBytes, "\\ufffd");
      at += kEscapeBytes;
    } else {
      at += 2;  // an escaped backslash hides what follows it
    }
  }
  return repaired;
}

}  // namespace octet
