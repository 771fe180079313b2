// What the lines of an interrupted or finished result file are about, without holding the lines themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// A whole row that an earlier run has written.
struct EarlierRow {
  std::string id = {};          ///< as id_text() of the line's "id" or "custom_id"; "null" for a line nobody could read
  std::string input_hash = {};  ///< "x.input_hash": of the input line it answers; empty if the row has none
  bool failed = false;          ///< it has an error
  bool repeated_id = false;     ///< the error is that an earlier line had the id: it is about the other lines
  int64_t offset = 0, size = 0;  ///< bytes in the file, newline included
};

struct EarlierRows {
  std::vector<EarlierRow> rows;
  int64_t end = 0;  ///< bytes of whole rows; what follows was torn when the writer died
};

/// Reads a result file. A last line without its newline, or that is no row, is torn and left out. Error{kInput} names
/// any other line that is no row; Error{kEnvironment} if the file cannot be read. One line is in memory at a time.
EarlierRows read_earlier_rows(int fd, const std::string& path);

}  // namespace octet
