// Files and inputs that the tests of lib/text share. The tokenizer of the tiny model is in the repository; the real one
// is not (it belongs to its makers) and is looked for in the folder that OCTET_TEST_SHARED names.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/support/random.h"
#include "text/tokenizer.h"

namespace octet::test {

inline const std::string kDataDir = OCTET_TEST_DATA;
inline const std::string kTinyDir = kDataDir + "/tiny-words";
inline constexpr std::string_view kNoRealTokenizer =
    "no tokenizer/tokenizer.json of DeepSeek-V4-Flash in OCTET_TEST_SHARED (or in ../shared)";

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The values of a file with one JSON text per line. An empty result is a failure of the calling test.
inline std::vector<Json> read_json_lines(const std::string& path) {
  std::vector<Json> values;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) values.push_back(parse_json(line, path));
  EXPECT_FALSE(values.empty()) << path << " is missing or empty";
  return values;
}

inline std::vector<int32_t> ids_of(const Json& array) {
  std::vector<int32_t> ids;
  for (const Json& item : array.items) ids.push_back(static_cast<int32_t>(item.as_int().value()));
  return ids;
}

/// A file of data that belongs to others, in the folder of OCTET_TEST_SHARED or in one beside the repository.
inline std::string shared_path(const std::string& name) {
  const char* shared = std::getenv("OCTET_TEST_SHARED");
  return (shared != nullptr ? shared : kDataDir + "/../../../shared") + "/" + name;
}

/// The real tokenizer, loaded once for all tests; nothing where its file is not at hand.
inline const std::optional<Tokenizer>& real_tokenizer() {
  static const std::optional<Tokenizer> tokenizer = [] {
    const std::string dir = shared_path("tokenizer");
    return std::filesystem::exists(dir + "/tokenizer.json") ? std::optional(Tokenizer::from_dir(dir)) : std::nullopt;
  }();
  return tokenizer;
}

inline void append_utf8(std::string& text, char32_t c) {
  const auto byte = [&](char32_t b) { text.push_back(static_cast<char>(b)); };
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

/// Valid UTF-8 of up to 40 fragments, rich in what the pre-tokenizer treats in special ways.
inline std::string random_text(Random& random) {
  static const std::vector<std::string> kFragments = {
      " ",     "  ",       "\n",     "\r\n",       "\t",      "\xC2\xA0", "\xC2\x85", "a",  "Word",           "7",
      "12345", ".",        "=-",     "'t",         "(x)",     "日本",     "かな",     "・", "e\xCC\x81",      "½",
      "१२",    "👍🏽", "\u200b", "<｜User｜>", "<｜User", "｜",       "</think>", "<",  std::string(1, 0)};
  std::string text;
  for (int64_t left = random.integer(0, 40); left > 0; --left) {
    if (random.integer(0, 4) > 0) {
      text += kFragments[static_cast<size_t>(random.integer(0, static_cast<int64_t>(kFragments.size()) - 1))];
      continue;
    }
    auto c = static_cast<char32_t>(random.integer(0, 0x10FFFF - 0x800));
    if (c >= 0xD800) c += 0x800;  // steps over the surrogates
    append_utf8(text, c);
  }
  return text;
}

}  // namespace octet::test
