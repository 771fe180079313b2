// POSIX reads at offsets: a line is read again when its turn comes, so the file is held open from beginning to end.
#include "io/input_lines.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octet {
namespace {

constexpr size_t kBlock = 1 << 18;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Error cannot(std::string_view what, const std::string& path) {
  return Error(Code::kInput, fmt::format("cannot {} the input {}: {}", what, path, std::strerror(errno)));
}

ssize_t read_some(int fd, char* to, size_t size) {
  ssize_t got = -1;
  do {
    got = ::read(fd, to, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

/// Everything that can be read from `from`, in a file without a name.
int spool(int from, const std::string& path) {
  std::FILE* file = std::tmpfile();
  const int to = file ? ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
  if (file) std::fclose(file);
  if (to < 0) throw cannot("make a temporary copy of", path);
  std::vector<char> block(kBlock);
  ssize_t got = 0;
  while ((got = read_some(from, block.data(), block.size())) > 0) {
    if (::write(to, block.data(), static_cast<size_t>(got)) == got) continue;
    const Error error = cannot("make a temporary copy of", path);
    ::close(to);
    throw error;
  }
  if (got < 0) {
    const Error error = cannot("read", path);
    ::close(to);
    throw error;
  }
  ::lseek(to, 0, SEEK_SET);
  return to;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

InputLines::InputLines(const std::string& path) : path_(path) {
  const bool from_stdin = path == "-";
  const int fd = from_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw cannot("open", path);
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ::lseek(fd, 0, SEEK_CUR) == 0) {
    fd_ = fd;
    again_ = WindowReader(fd_);
    return;
  }
  try {
    fd_ = spool(fd, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  again_ = WindowReader(fd_);
  ::close(fd);
}

InputLines::~InputLines() {
  ::close(fd_);
}

void InputLines::rewind() {
  buffer_.clear();
  position_ = 0;
  offset_ = number_ = 0;
  at_end_ = false;
}

bool InputLines::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t held = buffer_.size();
  buffer_.resize(held + kBlock);
  const ssize_t got = ::pread(fd_, buffer_.data() + held, kBlock, offset_);
  if (got < 0) throw cannot("read", path_);
  buffer_.resize(held + static_cast<size_t>(got));
  offset_ += got;
  at_end_ = got == 0;
  return !at_end_;
}

bool InputLines::next(InputLine& line, std::string& text) {
  while (true) {
    size_t searched = position_, end = std::string::npos;
    while ((end = buffer_.find('\n', searched)) == std::string::npos) {
      searched = buffer_.size() - position_;  // fill() drops what is before position_
      if (at_end_ || !fill()) break;
    }
    const bool last = end == std::string::npos;
    if (last && position_ == buffer_.size()) return false;
    std::string_view found = std::string_view(buffer_).substr(position_, last ? end : end - position_);
    int64_t offset = offset_ - static_cast<int64_t>(buffer_.size() - position_);
    position_ += found.size() + (last ? 0 : 1);
    ++number_;
    if (offset == 0 && found.starts_with(kByteOrderMark)) {
      found.remove_prefix(kByteOrderMark.size());
      offset += static_cast<int64_t>(kByteOrderMark.size());
    }
    if (found.ends_with('\r')) found.remove_suffix(1);
    if (is_blank(found)) continue;
    line = {number_, offset, static_cast<int64_t>(found.size())};
    text.assign(found);
    return true;
  }
}

std::string InputLines::read(const InputLine& line) {
  std::string text(static_cast<size_t>(line.size), '\0');
  if (again_.read(text.data(), line.size, line.offset)) return text;
  if (errno != 0) throw cannot("read", path_);
  throw Error(Code::kInput, fmt::format("the input {} has become shorter while it was read", path_));
}

}  // namespace octet
