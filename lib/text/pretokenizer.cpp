// The pre-tokenizer as a scanner. The three regexes form a chain: each sees every piece of the one before as a text of
// its own, whether that piece was a match or a gap between matches. Hence three nested functions, outermost first.
#include "text/pretokenizer.h"

#include <cstddef>

#include "text/unicode_tables.h"

namespace octet {
namespace {

using char_class::kLetter;
using char_class::kMark;
using char_class::kNumber;
using char_class::kPunctuation;
using char_class::kSymbol;
using char_class::kWhiteSpace;

constexpr char32_t kCodePoints = 0x110000;
constexpr uint8_t kWord = kLetter | kMark;
constexpr uint8_t kPunctuationOrSymbol = kPunctuation | kSymbol;

constexpr std::string_view kRegexes[] = {
    R"(\p{N}{1,3})",
    // [U+4E00-U+9FA5 U+3040-U+309F U+30A0-U+30FF]+
    "[\xE4\xB8\x80-\xE9\xBE\xA5\xE3\x81\x80-\xE3\x82\x9F\xE3\x82\xA0-\xE3\x83\xBF]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
};

/// One character of a text: its code point, its classes and where the next one starts.
struct Character {
  char32_t code_point;
  uint8_t flags;
  size_t end;

  bool is(uint8_t any_of) const { return (flags & any_of) != 0; }
};

bool is_line_break(char32_t c) {
  return c == '\r' || c == '\n';
}

bool is_ascii_letter(char32_t c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// The 32 punctuation and symbol characters of ASCII.
bool is_ascii_punctuation(const Character& c) {
  return c.code_point < 0x80 && c.is(kPunctuationOrSymbol);
}

/// Unified ideographs of Unicode 1.1, hiragana and katakana: the class of the second regex.
bool is_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
}

class Splitter {
 public:
  Splitter(const uint8_t* classes, std::vector<std::string_view>& pieces) : classes_(classes), pieces_(pieces) {}

  /// Regex 1: runs of numbers in chunks of three, and what is between them.
  void split_numbers(std::string_view text) {
    size_t gap = 0;
    size_t i = 0;
    while (i < text.size()) {
      Character c = at(text, i);
      if (!c.is(kNumber)) {
        i = c.end;
        continue;
      }
      size_t end = c.end;
      for (int count = 1; count < 3 && end < text.size(); ++count) {
        c = at(text, end);
        if (!c.is(kNumber)) break;
        end = c.end;
      }
      split_cjk(text.substr(gap, i - gap));
      split_cjk(text.substr(i, end - i));
      gap = i = end;
    }
    split_cjk(text.substr(gap));
  }

 private:
  /// Regex 2: runs of Han, hiragana and katakana, and runs of everything else.
  void split_cjk(std::string_view text) {
    size_t start = 0;
    size_t i = 0;
    bool in_cjk = false;
    while (i < text.size()) {
      const Character c = at(text, i);
      if (is_cjk(c.code_point) != in_cjk) {
        split_words(text.substr(start, i - start));
        start = i;
        in_cjk = !in_cjk;
      }
      i = c.end;
    }
    split_words(text.substr(start));
  }

  /// Regex 3: words, punctuation and white space; characters that start no match form gap pieces.
  void split_words(std::string_view text) {
    size_t gap = 0;
    size_t i = 0;
    while (i < text.size()) {
      const Character c = at(text, i);
      const size_t end = match_end(text, i, c);
      if (end == i) {
        i = c.end;
        continue;
      }
      emit(text.substr(gap, i - gap));
      emit(text.substr(i, end - i));
      gap = i = end;
    }
    emit(text.substr(gap));
  }

  /// Where the match of regex 3 that starts at i (with character c) ends; i if there is none. One paragraph for each
  /// alternative, in their order.
  size_t match_end(std::string_view text, size_t i, const Character& c) const {
    const bool last = c.end == text.size();
    const Character next = last ? Character{0, 0, c.end} : at(text, c.end);

    if (is_ascii_punctuation(c) && is_ascii_letter(next.code_point)) {
      size_t end = c.end;
      while (end < text.size() && is_ascii_letter(static_cast<unsigned char>(text[end]))) ++end;
      return end;
    }

    const bool may_lead_word = !is_line_break(c.code_point) && !c.is(kLetter | kPunctuationOrSymbol);
    if (c.is(kWord) || (may_lead_word && next.is(kWord))) return run_end(text, c.end, kWord);

    const bool space_first = c.code_point == ' ' && next.is(kPunctuationOrSymbol);
    if (space_first || c.is(kPunctuationOrSymbol)) {
      size_t end = run_end(text, c.end, kPunctuationOrSymbol);
      while (end < text.size() && is_line_break(static_cast<unsigned char>(text[end]))) ++end;
      return end;
    }

    return c.is(kWhiteSpace) ? white_space_end(text, i) : i;
  }

  /// The last three alternatives: white space up to its last line break; else all of it at the end of the text; else
  /// all but its last character, which the next match may take as a prefix; else that one character.
  size_t white_space_end(std::string_view text, size_t start) const {
    size_t after_line_break = start;
    size_t last_start = start;
    size_t i = start;
    while (i < text.size()) {
      const Character c = at(text, i);
      if (!c.is(kWhiteSpace)) break;
      last_start = i;
      i = c.end;
      if (is_line_break(c.code_point)) after_line_break = i;
    }
    if (after_line_break > start) return after_line_break;
    if (i == text.size() || last_start == start) return i;
    return last_start;
  }

  size_t run_end(std::string_view text, size_t i, uint8_t any_of) const {
    while (i < text.size()) {
      const Character c = at(text, i);
      if (!c.is(any_of)) break;
      i = c.end;
    }
    return i;
  }

  void emit(std::string_view piece) {
    if (!piece.empty()) pieces_.push_back(piece);
  }

  /// The character at byte i of a text known to be valid UTF-8.
  Character at(std::string_view text, size_t i) const {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
    const auto tail = [&](size_t k) { return static_cast<char32_t>(byte(k) & 0x3F); };
    const char32_t lead = byte(0);
    if (lead < 0x80) return {lead, classes_[lead], i + 1};
    char32_t c = 0;
    size_t length = 0;
    if (lead < 0xE0) {
      c = (lead & 0x1F) << 6 | tail(1);
      length = 2;
    } else if (lead < 0xF0) {
      c = (lead & 0x0F) << 12 | tail(1) << 6 | tail(2);
      length = 3;
    } else {
      c = (lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
      length = 4;
    }
    return {c, classes_[c], i + length};
  }

  const uint8_t* classes_;
  std::vector<std::string_view>& pieces_;
};

}  // namespace

PreTokenizer::PreTokenizer() : classes_(kCodePoints) {
  const std::span<const uint32_t> runs = char_class_runs();
  for (size_t r = 0; r < runs.size(); ++r) {
    const char32_t end = r + 1 < runs.size() ? runs[r + 1] >> 8 : kCodePoints;
    for (char32_t c = runs[r] >> 8; c < end; ++c) classes_[c] = static_cast<uint8_t>(runs[r] & 0xFF);
  }
}

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  Splitter(classes_.data(), pieces).split_numbers(text);
}

std::span<const std::string_view> PreTokenizer::regexes() {
  return kRegexes;
}

}  // namespace octet
