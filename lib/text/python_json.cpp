// A reader of its own, because base/json.h refuses what Python takes: repeated keys, NaN, numbers beyond a double.
#include "text/python_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/utf8.h"

namespace octet {
namespace {

/// Deepest nesting, as in base/json.cpp: reading, writing and destroying a value recurse.
constexpr int kMaxDepth = 256;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string& out, uint32_t c) {
  const auto byte = [&out](uint32_t b) { out.push_back(static_cast<char>(b)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

/// Of members with equal keys: the place of the first, the value of the last.
void keep_last_values(std::vector<std::pair<std::string, Json>>& members) {
  std::vector<size_t> order(members.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Sorting, because no choice of keys can make it slower than n log n.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return members[a].first < members[b].first; });
  std::vector<bool> dropped(members.size(), false);
  for (size_t from = 0; from < order.size();) {
    size_t to = from + 1;
    while (to < order.size() && members[order[to]].first == members[order[from]].first) dropped[order[to++]] = true;
    if (to > from + 1) members[order[from]].second = std::move(members[order[to - 1]].second);
    from = to;
  }
  size_t kept = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (dropped[i]) continue;
    if (kept != i) members[kept] = std::move(members[i]);
    ++kept;
  }
  members.erase(members.begin() + static_cast<std::ptrdiff_t>(kept), members.end());
}

/// Recursive descent over one text. A member returns false where json.loads would raise an error.
class Reader {
 public:
  Reader(std::string_view text, bool nan_allowed) : text_(text), nan_allowed_(nan_allowed) {}

  bool document(Json& value) {
    skip_white_space();
    if (!read_value(value, 0)) return false;
    skip_white_space();
    return at_ == text_.size();
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_white_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool read_value(Json& value, int depth) {
    const char first = peek();
    if (depth == kMaxDepth && (first == '[' || first == '{')) {
      throw Error(Code::kInput, fmt::format("JSON nested more than {} deep", kMaxDepth));
    }
    switch (first) {
      case '"': value.kind = Json::Kind::kString; return read_string(value.text);
      case '{': return read_object(value, depth);
      case '[': return read_array(value, depth);
      case 'n': return take("null");
      case 't': value = Json(true); return take("true");
      case 'f': value = Json(false); return take("false");
      default: return read_number(value);
    }
  }

  bool read_object(Json& value, int depth) {
    value.kind = Json::Kind::kObject;
    ++at_;
    skip_white_space();
    if (take("}")) return true;
    do {
      skip_white_space();
      auto& [key, member] = value.members.emplace_back(std::string(), Json());
      if (peek() != '"' || !read_string(key)) return false;
      skip_white_space();
      if (!take(":")) return false;
      skip_white_space();
      if (!read_value(member, depth + 1)) return false;
      skip_white_space();
    } while (take(","));
    keep_last_values(value.members);
    return take("}");
  }

  bool read_array(Json& value, int depth) {
    value.kind = Json::Kind::kArray;
    ++at_;
    skip_white_space();
    if (take("]")) return true;
    do {
      skip_white_space();
      if (!read_value(value.items.emplace_back(), depth + 1)) return false;
      skip_white_space();
    } while (take(","));
    return take("]");
  }

  bool read_number(Json& value) {
    value.kind = Json::Kind::kNumber;
    const size_t begin = at_;
    const auto digits = [this] {
      const size_t from = at_;
      while (is_digit(peek())) ++at_;
      return at_ > from;
    };
    take("-");
    if (nan_allowed_ && (take("Infinity") || (at_ == begin && take("NaN")))) {
      value.text = text_.substr(begin, at_ - begin);
      return true;
    }
    if (!take("0") && !digits()) return false;
    const size_t integer_end = at_;
    if (take(".") && !digits()) at_ = integer_end;  // "1." is the number 1 and an error after it
    const size_t fraction_end = at_;
    if (take("e") || take("E")) {
      if (!take("+")) take("-");
      if (!digits()) at_ = fraction_end;
    }
    value.text = text_.substr(begin, at_ - begin);
    return true;
  }

  bool read_string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const size_t plain = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') {
        if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
        ++at_;
      }
      out += text_.substr(plain, at_ - plain);
      if (take("\"")) return true;
      if (!take("\\") || !read_escape(out)) return false;
    }
    return false;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    if (c == 'u') return read_code_point(out);
    const size_t which = c == '\0' ? kLetters.npos : kLetters.find(c);
    if (which == kLetters.npos) return false;
    out += kMeanings[which];
    return true;
  }

  std::optional<uint32_t> read_hex4() {
    if (text_.size() - at_ < 4) return std::nullopt;
    uint32_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, status] = std::from_chars(begin, begin + 4, value, 16);
    if (status != std::errc() || end != begin + 4) return std::nullopt;
    at_ += 4;
    return value;
  }

  bool read_code_point(std::string& out) {
    const std::optional<uint32_t> unit = read_hex4();
    if (!unit) return false;
    const auto is_high = [](uint32_t u) { return u >= 0xD800 && u < 0xDC00; };
    const auto is_low = [](uint32_t u) { return u >= 0xDC00 && u < 0xE000; };
    if (is_high(*unit) && take("\\u")) {
      const size_t second = at_;
      const std::optional<uint32_t> low = read_hex4();
      if (!low) return false;
      if (is_low(*low)) {
        append_utf8(out, 0x10000 + (*unit - 0xD800) * 0x400 + (*low - 0xDC00));
        return true;
      }
      at_ = second - 2;  // the second escape stands for itself
    }
    if (is_high(*unit) || is_low(*unit)) {
      out += kReplacementCharacter;
    } else {
      append_utf8(out, *unit);
    }
    return true;
  }

  std::string_view text_;
  bool nan_allowed_;
  size_t at_ = 0;
};

/// Python's repr of a float: the fewest digits that read back the same, fixed for 1e-4 <= |x| < 1e16.
std::string float_repr(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  const char* end = std::to_chars(std::begin(buffer), std::end(buffer), x, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);  // to_chars, too, writes two digits or more

  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (is_digit(c)) digits += c;
  }
  const std::string sign = text.starts_with('-') ? "-" : "";
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t before_point = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= before_point) return sign + digits + std::string(before_point - digits.size(), '0') + ".0";
  return sign + digits.substr(0, before_point) + "." + digits.substr(before_point);
}

std::string number_repr(const std::string& text) {
  if (text.find_first_of("NI") != text.npos) return text;                        // NaN, Infinity
  if (text.find_first_of(".eE") == text.npos) return text == "-0" ? "0" : text;  // an integer of any size
  return float_repr(std::strtod(text.c_str(), nullptr));  // unlike from_chars, gives infinity and 0 beyond the range
}

void append(std::string& out, const Json& value) {
  const char* separator = "";
  switch (value.kind) {
    case Json::Kind::kNull: out += "null"; return;
    case Json::Kind::kBool: out += value.boolean ? "true" : "false"; return;
    case Json::Kind::kNumber: out += number_repr(value.text); return;
    case Json::Kind::kString: out += python_json_string(value.text); return;
    case Json::Kind::kArray:
      out += '[';
      for (const Json& item : value.items) {
        out += std::exchange(separator, ", ");
        append(out, item);
      }
      out += ']';
      return;
    case Json::Kind::kObject:
      out += '{';
      for (const auto& [key, member] : value.members) {
        out += std::exchange(separator, ", ");
        out += python_json_string(key);
        out += ": ";
        append(out, member);
      }
      out += '}';
      return;
  }
}

}  // namespace

std::optional<Json> read_python_json(std::string_view text) {
  Json value;
  if (!Reader(text, /*nan_allowed=*/true).document(value)) return std::nullopt;
  return value;
}

bool is_strict_json(std::string_view text) {
  try {
    Json ignored;
    return Reader(text, /*nan_allowed=*/false).document(ignored);
  } catch (const Error&) {  // nested too deep
    return false;
  }
}

std::string python_json(const Json& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string python_json_string(std::string_view text) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  std::string out = "\"";
  for (const char c : text) {
    const size_t which = kShort.find(c);
    if (which != kShort.npos) {
      out += {'\\', kLetters[which]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += {'\\', 'u', '0', '0', c < 0x10 ? '0' : '1', "0123456789abcdef"[c & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace octet
