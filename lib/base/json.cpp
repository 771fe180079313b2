// The only file that includes nlohmann-json: its SAX parser feeds our ordered tree, because its own tree forgets the
// text of numbers and silently keeps the last of two equal keys.
#include "base/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace octet {
namespace {

/// Deepest nesting accepted. Far beyond any real text; destroying and dumping the tree recurse, so it must be bounded.
constexpr size_t kMaxDepth = 256;
constexpr size_t kMaxDetailBytes = 200;  // a message quotes no more than this of a hostile text

/// Reads the text and notes how far the parser has come: SAX events carry no position.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char* begin;
  size_t* consumed;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    *consumed = static_cast<size_t>(at - begin);
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
  bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

/// Builds a Json from the parser's events; the first failure is kept in `problem` and stops the parser.
class TreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit TreeBuilder(const size_t* consumed) : consumed_(consumed) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  // The lexer calls a number signed only when it begins with a minus, so a signed zero was written "-0".
  bool number_integer(number_integer_t value) { return add(number(value == 0 ? "-0" : std::to_string(value))); }
  bool number_unsigned(number_unsigned_t value) { return add(number(std::to_string(value))); }
  bool number_float(number_float_t, const string_t& text) { return add(number(text)); }
  bool string(string_t& value) { return add(Json(std::move(value))); }
  bool binary(binary_t&) { return fail("a binary value"); }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    open_.back()->members.emplace_back(std::move(name), Json());
    return true;
  }
  bool end_object() {
    // Sorting keeps this O(n log n) for a vocabulary of 100,000 keys, and no choice of keys can make it slower.
    std::vector<std::string_view> names;
    names.reserve(open_.back()->members.size());
    for (const auto& member : open_.back()->members) names.push_back(member.first);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return close();
    return fail(fmt::format("the object that ends here has the key \"{}\" twice", twice->substr(0, kMaxDetailBytes)));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    std::string_view detail = error.what();
    if (const size_t tag = detail.find("] "); tag != detail.npos) detail.remove_prefix(tag + 2);
    if (detail.starts_with("parse error at")) detail.remove_prefix(std::min(detail.size(), detail.find(": ") + 2));
    detail = detail.substr(0, std::min(detail.find("; last read"), kMaxDetailBytes));
    problem_ = detail;
    position_ = position;
    return false;
  }

  /// The finished tree, or an Error that names the text and the place.
  Json finish(bool parsed, std::string_view what) {
    if (parsed) return std::move(root_);
    throw Error(Code::kInput, fmt::format("{}: invalid JSON at byte {}: {}", what, position_, problem_));
  }

 private:
  static Json number(std::string text) {
    Json value(std::move(text));
    value.kind = Json::Kind::kNumber;
    return value;
  }
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    position_ = *consumed_;
    return false;
  }
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.kind == Json::Kind::kArray) return &parent.items.emplace_back(std::move(value));
    parent.members.back().second = std::move(value);
    return &parent.members.back().second;
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  // Pointers to the open containers stay valid: nothing is appended to a container while one of its children is open.
  bool open(Json container) {
    if (open_.size() == kMaxDepth) return fail(fmt::format("nested more than {} deep", kMaxDepth));
    open_.push_back(place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  const size_t* consumed_;
  std::string problem_;
  size_t position_ = 0;
};

/// A number's text as sign, digits without leading or trailing zeros, and a power of ten.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};

Decimal decimal(std::string_view text) {
  Decimal d;
  d.negative = text.starts_with('-');
  const size_t e = text.find_first_of("eE");
  int64_t fraction_digits = 0;
  bool in_fraction = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') in_fraction = true;
    if (c < '0' || c > '9') continue;
    d.digits += c;
    if (in_fraction) ++fraction_digits;
  }
  if (e != text.npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto [end, status] = std::from_chars(power.data(), power.data() + power.size(), d.exponent);
    constexpr int64_t kBeyondAnyNumber = 1'000'000'000'000;
    if (status != std::errc()) d.exponent = power.starts_with('-') ? -kBeyondAnyNumber : kBeyondAnyNumber;
    d.exponent = std::clamp(d.exponent, -kBeyondAnyNumber, kBeyondAnyNumber);
  }
  d.exponent -= fraction_digits;
  while (!d.digits.empty() && d.digits.back() == '0') {
    d.digits.pop_back();
    ++d.exponent;
  }
  d.digits.erase(0, d.digits.find_first_not_of('0'));
  return d;
}

/// |text| as an integer, if it is one and fits.
std::optional<uint64_t> magnitude(Decimal d) {
  if (d.digits.empty()) return 0;
  constexpr int64_t kMostDigits = 20;  // of a uint64_t
  if (d.exponent < 0 || static_cast<int64_t>(d.digits.size()) + d.exponent > kMostDigits) return std::nullopt;
  d.digits.append(static_cast<size_t>(d.exponent), '0');
  uint64_t value = 0;
  const char* end = d.digits.data() + d.digits.size();
  const auto [stop, status] = std::from_chars(d.digits.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// The value of a number written in plain digits, which is how nearly all integers come.
template <class Int>
std::optional<Int> plain_integer(const std::string& text) {
  Int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool needs_no_escape(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void append_string(std::string& out, const std::string& text) {
  if (std::all_of(text.begin(), text.end(), needs_no_escape)) {  // keys, ids, most of what is written
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

void append(std::string& out, const Json& value) {
  switch (value.kind) {
    case Json::Kind::kNull: out += "null"; return;
    case Json::Kind::kBool: out += value.boolean ? "true" : "false"; return;
    case Json::Kind::kNumber: out += value.text; return;
    case Json::Kind::kString: append_string(out, value.text); return;
    case Json::Kind::kArray: {
      char separator = '[';
      for (const Json& item : value.items) {
        out += std::exchange(separator, ',');
        append(out, item);
      }
      out += value.items.empty() ? "[]" : "]";
      return;
    }
    case Json::Kind::kObject: {
      char separator = '{';
      for (const auto& [name, member] : value.members) {
        out += std::exchange(separator, ',');
        append_string(out, name);
        out += ':';
        append(out, member);
      }
      out += value.members.empty() ? "{}" : "}";
      return;
    }
  }
}

}  // namespace

Json::Json(int64_t v) : kind(Kind::kNumber), text(std::to_string(v)) {}

Json::Json(uint64_t v) : kind(Kind::kNumber), text(std::to_string(v)) {}

Json::Json(double v) {
  if (!std::isfinite(v)) return;
  char buffer[32];  // the shortest form of a double has at most 24 characters
  const auto [end, status] = std::to_chars(std::begin(buffer), std::end(buffer), v);
  kind = Kind::kNumber;
  text.assign(buffer, end);
}

Json Json::array(std::vector<Json> items) {
  Json value;
  value.kind = Kind::kArray;
  value.items = std::move(items);
  return value;
}

Json Json::object(std::vector<std::pair<std::string, Json>> members) {
  Json value;
  value.kind = Kind::kObject;
  value.members = std::move(members);
  return value;
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

Json& Json::set(std::string key, Json value) {
  return members.emplace_back(std::move(key), std::move(value)).second;
}

Json& Json::push(Json value) {
  return items.emplace_back(std::move(value));
}

std::optional<int64_t> Json::as_int() const {
  if (kind != Kind::kNumber) return std::nullopt;
  if (const auto plain = plain_integer<int64_t>(text)) return plain;
  const Decimal d = decimal(text);
  const std::optional<uint64_t> size = magnitude(d);
  const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (d.negative ? 1 : 0);
  if (!size || *size > limit) return std::nullopt;
  return static_cast<int64_t>(d.negative ? 0 - *size : *size);
}

std::optional<uint64_t> Json::as_uint() const {
  if (kind != Kind::kNumber) return std::nullopt;
  if (const auto plain = plain_integer<uint64_t>(text)) return plain;
  const Decimal d = decimal(text);
  const std::optional<uint64_t> size = magnitude(d);
  if (!size || (d.negative && *size > 0)) return std::nullopt;
  return size;
}

std::optional<double> Json::as_double() const {
  if (kind != Kind::kNumber) return std::nullopt;
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc()) return value;
  if (status != std::errc::result_out_of_range) return std::nullopt;
  value = std::strtod(text.c_str(), nullptr);  // from_chars does not say whether it was too large or too small
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::string Json::dump() const {
  std::string out;
  append(out, *this);
  return out;
}

Json parse_json(std::string_view text, std::string_view what) {
  // Said here because the parser's own words for it differ between its versions.
  if (text.empty()) throw Error(Code::kInput, fmt::format("{}: unexpected end of input at byte 0", what));
  size_t consumed = 0;
  TreeBuilder builder(&consumed);
  const char* begin = text.data();
  const char* end = begin + text.size();
  const bool parsed = nlohmann::json::sax_parse(CountingIterator{begin, begin, &consumed},
                                                CountingIterator{end, begin, &consumed}, &builder);
  return builder.finish(parsed, what);
}

}  // namespace octet
