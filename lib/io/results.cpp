// POSIX files: the promises (one write per line, a lock, rename as the last act) are about system calls.
#include "io/results.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace octet {
namespace {

Error cannot(std::string_view what, const std::string& path, Code code = Code::kEnvironment) {
  return Error(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// Lines that end with a newline; what follows the last one was torn by a crash.
int64_t whole_lines(int fd) {
  int64_t lines = 0, offset = 0;
  std::vector<char> buffer(1 << 20);
  ssize_t got = 0;
  while ((got = ::pread(fd, buffer.data(), buffer.size(), offset)) > 0) {
    lines += std::count(buffer.data(), buffer.data() + got, '\n');
    offset += got;
  }
  return lines;
}

void write_all(int fd, const char* data, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t put = ::write(fd, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw cannot("write", path);
    data += put;
    size -= static_cast<size_t>(put);
  }
}

/// A rename is durable only once its folder is.
void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder that may be written but not read: the rename itself has succeeded
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

ResultFile::ResultFile(std::string path, bool force) : path_(std::move(path)), journal_path_(path_ + ".partial") {
  journal_ = ::open(journal_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (journal_ < 0) throw cannot("create", journal_path_, Code::kUsage);
  const auto refuse = [this](std::string sentence) {
    ::close(journal_);
    return Error(Code::kUsage, std::move(sentence));
  };
  if (::flock(journal_, LOCK_EX | LOCK_NB) != 0) {
    throw refuse(fmt::format("{} is being written by another run", journal_path_));
  }
  const int64_t lines = whole_lines(journal_);
  if (!force && lines > 0) {
    throw refuse(
        fmt::format("{} holds {} finished lines of an interrupted run; --force gives them up", journal_path_, lines));
  }
  if (!force && exists(path_)) {  // asked under the lock: a run that has just finished has put its file there by now
    ::unlink(journal_path_.c_str());
    throw refuse(fmt::format("the output {} exists; --force overwrites it", path_));
  }
  if (::ftruncate(journal_, 0) != 0) throw refuse(fmt::format("cannot empty {}", journal_path_));
}

ResultFile::~ResultFile() {
  if (journal_ < 0) return;
  if (pieces_.empty()) ::unlink(journal_path_.c_str());
  ::close(journal_);
}

void ResultFile::write(int64_t index, std::string_view row) {
  std::string line(row);
  line += '\n';
  ssize_t put = -1;
  do {
    put = ::pwrite(journal_, line.data(), line.size(), end_);
  } while (put < 0 && errno == EINTR);
  const auto size = static_cast<int64_t>(line.size());
  if (put != size) {
    if (put >= 0) errno = ENOSPC;  // a short write to a file means that there is no room for the rest
    const Error error = cannot("write a result line to", journal_path_);
    if (::ftruncate(journal_, end_) != 0) {
      throw Error(error.code(), fmt::format("{}; its last line is torn", error.what()));
    }
    throw error;
  }
  pieces_.push_back({index, end_, size});
  end_ += size;
}

void ResultFile::copy_in_order(int target) const {
  std::vector<Piece> ordered = pieces_;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Piece& a, const Piece& b) { return a.index < b.index; });
  constexpr size_t kFlushBytes = 1 << 20;
  std::string block;
  for (const Piece& piece : ordered) {
    const size_t start = block.size();
    block.resize(start + static_cast<size_t>(piece.size));
    const ssize_t got = ::pread(journal_, block.data() + start, static_cast<size_t>(piece.size), piece.offset);
    if (got != piece.size) throw cannot("read back", journal_path_);
    if (block.size() < kFlushBytes) continue;
    write_all(target, block.data(), block.size(), path_);
    block.clear();
  }
  write_all(target, block.data(), block.size(), path_);
}

void ResultFile::finish() {
  const std::string sorted_path = path_ + ".sorted";
  const int sorted = ::open(sorted_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (sorted < 0) throw cannot("create", sorted_path);
  try {
    copy_in_order(sorted);
    if (::fsync(sorted) != 0) throw cannot("make durable", sorted_path);
  } catch (...) {
    ::close(sorted);
    throw;
  }
  ::close(sorted);
  if (::rename(sorted_path.c_str(), path_.c_str()) != 0) throw cannot("rename to", path_);
  sync_folder_of(path_);
  ::unlink(journal_path_.c_str());
  ::close(journal_);
  journal_ = -1;
}

}  // namespace octet
