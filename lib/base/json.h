// JSON behind one header; nlohmann-json is used in json.cpp only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// An ordered JSON value. Numbers keep their source text, so big integers and decimals survive unchanged; objects keep
/// the order of their keys. A plain struct with an invariant-free layout: only the members of `kind` mean anything.
struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;                                   ///< string value (UTF-8), or a number's source text
  std::vector<Json> items;                            ///< array elements
  std::vector<std::pair<std::string, Json>> members;  ///< object members in order

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool b) : kind(Kind::kBool), boolean(b) {}
  Json(int v) : Json(static_cast<int64_t>(v)) {}
  Json(int64_t v);
  Json(uint64_t v);
  Json(double v);  ///< shortest text that reads back the same; NaN and inf: null
  Json(const char* s) : kind(Kind::kString), text(s) {}
  Json(std::string s) : kind(Kind::kString), text(std::move(s)) {}
  Json(std::string_view s) : kind(Kind::kString), text(s) {}
  static Json array(std::vector<Json> items = {});
  static Json object(std::vector<std::pair<std::string, Json>> members = {});

  bool is(Kind k) const { return kind == k; }
  /// The member called `key`, or nullptr (also when this is not an object).
  const Json* find(std::string_view key) const;
  /// Appends a member (no check for a repeated key).
  Json& set(std::string key, Json value);
  Json& push(Json value);
  /// Exact integer value of a number written as one (also "3.0" and "3e2"); nothing if it is no integer or out of
  /// range.
  std::optional<int64_t> as_int() const;
  std::optional<uint64_t> as_uint() const;
  std::optional<double> as_double() const;

  /// One line, UTF-8, only the escapes JSON demands; ill-formed UTF-8 becomes U+FFFD.
  std::string dump() const;
};

/// Parses one JSON text. Errors: Error{kInput} with the byte offset and what was expected; a repeated key in an object
/// is an error as well. `what` names the text in the message ("line 12", "config.json").
Json parse_json(std::string_view text, std::string_view what);

}  // namespace octet
