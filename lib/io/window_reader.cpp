// See window_reader.h.
#include "io/window_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace octet {
namespace {

constexpr int64_t kWindow = 1 << 16;
constexpr int64_t kBehind = kWindow / 4;  // lines that finish together lie in any order

/// Bytes read, up to `size`; -1 with errno.
int64_t read_at(int fd, char* to, int64_t size, int64_t offset) {
  int64_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, to + done, static_cast<size_t>(size - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace

bool WindowReader::read(char* to, int64_t size, int64_t offset) {
  const auto held = static_cast<int64_t>(window_.size());
  const bool inside = offset >= begin_ && offset + size <= begin_ + held;
  if (!inside) {
    // Far jumps (a file in random order) read what they need; only neighbours are worth a window.
    const bool near = offset >= begin_ - kWindow && offset <= begin_ + held + kWindow;
    begin_ = near ? std::max<int64_t>(0, offset - kBehind) : offset;
    window_.resize(static_cast<size_t>(near ? std::max(kWindow, offset + size - begin_) : size));
    const int64_t got = read_at(fd_, window_.data(), static_cast<int64_t>(window_.size()), begin_);
    if (got >= 0) errno = 0;
    window_.resize(static_cast<size_t>(std::max<int64_t>(0, got)));
    if (offset + size > begin_ + got) return false;
  }
  std::memcpy(to, window_.data() + (offset - begin_), static_cast<size_t>(size));
  return true;
}

}  // namespace octet
