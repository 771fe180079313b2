// Reads encoder files as bytes; their code is never run.
#include "text/encoding_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"

namespace octet {
namespace {

constexpr std::string_view kSha256OfV4 = "bdbd57c132a1b3725042323d02b98b9d1df28e5f388f134399555d041f5055e0";
constexpr std::string_view kSha256Of0731 = "abc0d26120250dda0ae077dc64aa28836026e61e970854aaeb792445e6a0dde6";
constexpr std::string_view kWordsOf0731 = "Beyond maximum";

std::vector<std::string> python_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == ".py" && entry.is_regular_file(failure)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<ChatEncoding> recognise(std::string_view text, std::string_view digest) {
  if (digest == kSha256OfV4) return ChatEncoding::kV4;
  if (digest == kSha256Of0731 || text.find(kWordsOf0731) != text.npos) return ChatEncoding::kV40731;
  return std::nullopt;
}

}  // namespace

std::optional<EncodingProfile> find_encoding(const std::string& model_dir) {
  const std::string folder = model_dir + "/encoding";
  std::optional<EncodingProfile> found;
  std::string unknown;
  for (const std::string& file : python_files(folder)) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) throw Error(Code::kCheckpoint, fmt::format("{}: cannot be read", file));
    const std::string digest = sha256(text);
    const std::optional<ChatEncoding> encoding = recognise(text, digest);
    if (!encoding) {
      unknown += fmt::format("{}{} (SHA-256 {})", unknown.empty() ? "" : ", ", file, digest);
      continue;
    }
    if (found && found->encoding != *encoding) {
      throw Error(Code::kCheckpoint,
                  fmt::format("{} is the encoding {}, but {} is {}; say which with --encoding v4|0731", file,
                              word_of(*encoding), found->file, word_of(found->encoding)));
    }
    if (!found) found = EncodingProfile{*encoding, file, digest};
  }
  if (!found && !unknown.empty()) {
    throw Error(
        Code::kCheckpoint,
        fmt::format("not a chat encoding known to this program: {}; say which it is with --encoding v4|0731", unknown));
  }
  return found;
}

std::optional<ChatEncoding> encoding_from_word(std::string_view word) {
  if (word == "v4") return ChatEncoding::kV4;
  if (word == "0731") return ChatEncoding::kV40731;
  return std::nullopt;
}

std::string_view word_of(ChatEncoding encoding) {
  switch (encoding) {
    case ChatEncoding::kV4: return "v4";
    case ChatEncoding::kV40731: return "0731";
  }
  return "";
}

}  // namespace octet
