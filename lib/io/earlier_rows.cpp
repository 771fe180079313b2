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

EarlierRow row_of(std::string_view line, const std::string& what) {
  const Json row = parse_json(line, what);
  const Json* id = row.find("custom_id");
  if (id == nullptr) id = row.find("id");
  const Json* error = row.find("error");
  if (id == nullptr || error == nullptr) throw Error(Code::kInput, what + ": no result line: it lacks id or error");
  EarlierRow earlier{.id = id_text(*id), .input_hash = {}, .failed = !error->is(Json::Kind::kNull)};
  const Json* code = error->find("code");
  earlier.repeated_id = code != nullptr && code->text == "duplicate_custom_id";
  const Json* extension = row.find("x");
  const Json* hash = extension == nullptr ? nullptr : extension->find("input_hash");
  if (hash != nullptr) earlier.input_hash = hash->text;
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
