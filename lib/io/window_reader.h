// Reads at offsets that mostly lie near the last one, without a system call for each.
#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// A window of a file's bytes. The file may grow while it is read, but what has been read must not change. The
/// descriptor stays the caller's.
class WindowReader {
 public:
  explicit WindowReader(int fd) : fd_(fd) {}

  /// Copies `size` bytes at `offset` to `to`. False if the file ends before them (errno 0) or cannot be read (errno).
  bool read(char* to, int64_t size, int64_t offset);

 private:
  int fd_;
  std::string window_;
  int64_t begin_ = 0;  ///< offset of window_
};

}  // namespace octet
