// See resolve.h. One parser per kind of member; type is checked before range.
#include "options/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "options/option_words.h"
#include "options/suggest.h"

namespace octet {
namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

[[noreturn]] void refuse(const Setting& s, std::string_view expected, std::string_view hint = "") {
  const std::string what = s.origin == Origin::kFile ? fmt::format("{}: {}", s.place, s.name) : s.place;
  throw Error(Code::kUsage, fmt::format("{} expects {}, found '{}'{}", what, expected, s.text, hint));
}

/// "of at least 1", "above 0 and at most 1".
std::string range_words(const Range& range) {
  std::string words;
  if (std::isfinite(range.least))
    words = fmt::format("{} {}", range.above_least ? "above" : "of at least", range.least);
  if (std::isfinite(range.most)) words += fmt::format("{}at most {}", words.empty() ? "of " : " and ", range.most);
  return words;
}

template <class Number>
void read_number(const Setting& s, const Range& range, std::string_view kind, Number& out) {
  const char* end = s.text.data() + s.text.size();
  Number value{};
  const auto [stop, status] = std::from_chars(s.text.data(), end, value);
  if (status != std::errc() || stop != end) refuse(s, kind);
  const double x = static_cast<double>(value);
  const bool above = range.above_least ? x > range.least : x >= range.least;
  if (!std::isfinite(x) || !above || x > range.most) refuse(s, fmt::format("{} {}", kind, range_words(range)));
  out = value;
}

void read_value(const Setting& s, const OptionInfo& info, int64_t& out) {
  read_number(s, info.range, "a whole number", out);
}

void read_value(const Setting& s, const OptionInfo&, uint64_t& out) {
  read_number(s, {}, "a whole number from 0 to 2^64 - 1", out);
}

void read_value(const Setting& s, const OptionInfo& info, double& out) {
  read_number(s, info.range, "a number", out);
}

void read_value(const Setting& s, const OptionInfo&, bool& out) {
  if (s.text == "true" || s.text == "1") {
    out = true;
  } else if (s.text == "false" || s.text == "0") {
    out = false;
  } else {
    refuse(s, "true or false");
  }
}

void read_value(const Setting& s, const OptionInfo& info, std::string& out) {
  const bool is_file = info.value.find("FILE") != info.value.npos || info.value.ends_with(".json");
  if (s.text.empty()) refuse(s, info.value == "DIR" ? "a folder" : is_file ? "a file" : info.value);
  out = s.text;
}

void read_value(const Setting& s, const OptionInfo& info, std::vector<int64_t>& out) {
  std::vector<int64_t> values;
  Setting item = s;
  for (size_t begin = 0; begin <= s.text.size(); begin += item.text.size() + 1) {
    item.text = s.text.substr(begin, s.text.find(',', begin) - begin);
    read_number(item, info.range, "whole numbers with commas between them,", values.emplace_back());
  }
  out = std::move(values);
}

template <class E>
requires std::is_enum_v<E>
void read_value(const Setting& s, const OptionInfo&, E& out) {
  std::vector<std::string> words;
  std::string list;
  for (const auto& [word, value] : enum_words(E{})) {
    if (s.text == word) {
      out = value;
      return;
    }
    words.emplace_back(word);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", word);
  }
  refuse(s, "one of " + list, did_you_mean(s.text, words));
}

template <class T>
void read_value(const Setting& s, const OptionInfo& info, std::optional<T>& out) {
  T value{};
  read_value(s, info, value);
  out = value;
}

template <class T>
std::string value_text(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? value_text(*value) : "";
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& [word, known] : enum_words(T{})) {
      if (known == value) return std::string(word);
    }
    return "";
  } else if constexpr (std::same_as<T, std::vector<int64_t>>) {
    std::string list;
    for (const int64_t item : value) list += fmt::format("{}{}", list.empty() ? "" : ",", item);
    return list;
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
std::vector<std::string_view> words_of(const T&) {
  std::vector<std::string_view> words;
  if constexpr (IsOptional<T>::value) {
    return words_of(typename T::value_type{});
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& [word, value] : enum_words(T{})) words.push_back(word);
  }
  return words;
}

template <class T>
OptionRow row_of(T& member, const OptionInfo& info) {
  return {.info = info,
          .is_switch = std::same_as<T, bool>,
          .words = words_of(member),
          .set = [&member, info](const Setting& s) { read_value(s, info, member); },
          .text = [&member] { return value_text(member); }};
}

void require_all(const std::vector<OptionRow>& rows, Command command) {
  std::string missing;
  for (const OptionRow& row : rows) {
    if (!row.info.required || !row.text().empty()) continue;
    std::string value(row.info.value);
    for (const std::string_view word : row.words) value += fmt::format("{}{}", value.empty() ? "" : "|", word);
    missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", flag_name(row.info.name), value);
  }
  if (missing.empty()) return;
  throw Error(Code::kUsage, fmt::format("{0} needs {1} (see octet {0} --help)", command_name(command), missing));
}

}  // namespace

OptionRow option_row(bool& member, const OptionInfo& info) {
  return row_of(member, info);
}

OptionRow option_row(int64_t& member, const OptionInfo& info) {
  return row_of(member, info);
}

std::vector<OptionRow> option_rows(Command command, Options& o) {
  std::vector<OptionRow> rows;
  visit_options(command, o, [&rows](auto& member, const OptionInfo& info) { rows.push_back(row_of(member, info)); });
  return rows;
}

ResolvedOptions resolve_settings(Command command, std::vector<Setting> settings) {
  ResolvedOptions resolved;
  const std::vector<OptionRow> rows = option_rows(command, resolved.options);
  std::stable_sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) { return a.origin < b.origin; });
  for (const Setting& s : settings) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& r) { return r.info.name == s.name; });
    require(row != rows.end(), "a setting of an option that its command does not have");
    row->set(s);
    resolved.written[s.name] = s;
    resolved.options.places[s.name] = s.place;
  }
  return resolved;
}

ResolvedOptions resolve_options(Command command, std::vector<Setting> settings) {
  ResolvedOptions resolved = resolve_settings(command, std::move(settings));
  require_all(option_rows(command, resolved.options), command);
  return resolved;
}

std::string describe_options(Command command, Options options) {
  std::string lines;
  for (const OptionRow& row : option_rows(command, options)) {
    lines += fmt::format("{} = {}\n", row.info.name, row.text());
  }
  return lines;
}

std::string flag_name(std::string_view option) {
  std::string flag = "--" + std::string(option);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string variable_name(std::string_view option) {
  std::string variable = "OCTET_" + std::string(option);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return variable;
}

}  // namespace octet
