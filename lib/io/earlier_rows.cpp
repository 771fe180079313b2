// Rows of both forms are read: {"id", ..., "x", "error"} and {"custom_id", ..., "x", "error"}.
#include "io/earlier_rows.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "io/prompts.h"

namespace octet {
namespace {

/// Splits an object into its members without building a tree: rows are long (every token id stands in them) and a
/// resumed run waits for all of them. Strings, nesting and the characters between them are checked, the rest is not.
class MemberScanner {
 public:
  MemberScanner(std::string_view line, const std::string& what) : line_(line), what_(what) {}

  /// Calls visit(key with its quotes, text of the value) for every member.
  template <class Visit>
  void each(Visit&& visit) {
    take('{');
    do {
      const std::string_view key = string();
      take(':');
      visit(key, value());
    } while (take_comma());
    take('}');
    skip_spaces();
    if (at_ != line_.size()) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(Code::kInput, fmt::format("{}: no result line: broken at byte {}", what_, at_));
  }
  void take(char c) {
    skip_spaces();
    if (at_ >= line_.size() || line_[at_] != c) fail();
    ++at_;
  }
  bool take_comma() {
    skip_spaces();
    const bool there = at_ < line_.size() && line_[at_] == ',';
    if (there) ++at_;
    return there;
  }
  void skip_spaces() {  // rows that went through another program may have some
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\r')) ++at_;
  }
  std::string_view string() {
    skip_spaces();
    const size_t begin = at_;
    take('"');
    while (at_ < line_.size() && line_[at_] != '"') {
      if (static_cast<unsigned char>(line_[at_]) < ' ') fail();
      at_ += line_[at_] == '\\' ? 2 : 1;
    }
    take('"');
    return line_.substr(begin, at_ - begin);
  }
  static bool is_plain(char c) {
    return (c >= '+' && c <= ':' && c != '/') || (c >= 'a' && c <= 'u') || c == 'E' || c == ' ';
  }
  std::string_view value() {
    skip_spaces();
    const size_t begin = at_;
    for (int64_t depth = 0; at_ < line_.size();) {
      const char c = line_[at_];
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        --depth;
      } else if (!is_plain(c)) {
        fail();
      }
      ++at_;
    }
    if (at_ == begin) fail();
    return line_.substr(begin, at_ - begin);
  }

  std::string_view line_;
  const std::string& what_;
  size_t at_ = 0;
};

EarlierRow row_of(std::string_view line, const std::string& what) {
  std::string_view id, custom_id, error, extension;
  MemberScanner(line, what).each([&](std::string_view key, std::string_view value) {
    if (key == R"("id")") id = value;
    if (key == R"("custom_id")") custom_id = value;
    if (key == R"("error")") error = value;
    if (key == R"("x")") extension = value;
  });
  if (custom_id.empty()) custom_id = id;
  if (custom_id.empty() || error.empty()) throw Error(Code::kInput, what + ": no result line: it lacks id or error");
  EarlierRow earlier{.id = id_text(parse_json(custom_id, what))};
  earlier.failed = !parse_json(error, what).is(Json::Kind::kNull);
  if (earlier.failed) {
    const Json reason = parse_json(error, what);
    const Json* code = reason.find("code");
    earlier.repeated_id = code != nullptr && code->text == "duplicate_custom_id";
  }
  if (!extension.empty()) {
    const Json x = parse_json(extension, what);
    const Json* hash = x.find("input_hash");
    if (hash != nullptr) earlier.input_hash = hash->text;
  }
  return earlier;
}

/// Reads lines with one buffer that grows to the longest.
class LineReader {
 public:
  LineReader(int fd, const std::string& path) : fd_(fd), path_(path) {}

  /// The next line without its newline, valid until the next call; nothing at the end. An unfinished line is not
  /// returned.
  std::optional<std::string_view> next() {
    for (size_t searched = begin_;;) {
      const size_t newline = buffer_.find('\n', searched);
      if (newline != std::string::npos) {
        const std::string_view line(buffer_.data() + begin_, newline - begin_);
        begin_ = newline + 1;
        return line;
      }
      buffer_.erase(0, begin_);
      begin_ = 0;
      searched = buffer_.size();
      if (!fill()) return std::nullopt;
    }
  }

 private:
  bool fill() {
    constexpr size_t kBlockBytes = 1 << 20;
    const size_t had = buffer_.size();
    buffer_.resize(had + kBlockBytes);
    ssize_t got = 0;
    do {
      got = ::pread(fd_, buffer_.data() + had, kBlockBytes, offset_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw Error(Code::kEnvironment, fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    buffer_.resize(had + static_cast<size_t>(got));
    offset_ += got;
    return got > 0;
  }

  int fd_;
  const std::string& path_;
  std::string buffer_;
  size_t begin_ = 0;  ///< of the next line in the buffer
  int64_t offset_ = 0;
};

}  // namespace

EarlierRows read_earlier_rows(int fd, const std::string& path) {
  EarlierRows earlier;
  std::optional<Error> unreadable;  // of the line before; only the last one may be
  LineReader reader(fd, path);
  int64_t number = 0;
  while (const std::optional<std::string_view> line = reader.next()) {
    if (unreadable) throw *unreadable;
    const auto size = static_cast<int64_t>(line->size()) + 1;
    try {
      EarlierRow row = row_of(*line, fmt::format("{} line {}", path, ++number));
      row.offset = earlier.end;
      row.size = size;
      earlier.rows.push_back(std::move(row));
      earlier.end += size;
    } catch (const Error& error) {
      unreadable = error;
    }
  }
  return earlier;
}

}  // namespace octet
