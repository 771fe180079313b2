// The lines of an input file, one after the other and later again by their place, without holding the file.
#pragma once

#include <cstdint>
#include <string>

#include "io/window_reader.h"

namespace octet {

/// A line that is not blank. Offset and size are bytes of its text: without the newline, a CR before it, and a byte
/// order mark at the beginning of the file.
struct InputLine {
  int64_t number = 0;  ///< 1-based, blank lines counted
  int64_t offset = 0;
  int64_t size = 0;
};

/// A file, or stdin for "-". What cannot be read twice (a pipe) is copied to a temporary file that has no name.
class InputLines {
 public:
  /// Error{kInput} if it cannot be opened or copied.
  explicit InputLines(const std::string& path);
  ~InputLines();
  InputLines(const InputLines&) = delete;
  InputLines& operator=(const InputLines&) = delete;

  /// The next line and its text; false at the end. Error{kInput}.
  bool next(InputLine& line, std::string& text);
  /// next() begins again.
  void rewind();
  /// The text of a line that next() gave. Error{kInput} if the file is shorter now.
  std::string read(const InputLine& line);

 private:
  bool fill();

  std::string path_;
  int fd_ = -1;
  std::string buffer_;   ///< bytes of the file from buffer_offset_ on
  size_t position_ = 0;  ///< in the buffer, of what next() has not looked at
  int64_t offset_ = 0;   ///< in the file, of the end of the buffer
  int64_t number_ = 0;
  bool at_end_ = false;
  WindowReader again_{-1};  ///< for read()
};

}  // namespace octet
