// The output file of a run: OUT.partial while it runs (one whole line per write, in order of completion), OUT in input
// order at the end. Rank 0 owns the only one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// The journal OUT.partial and what it becomes. No signal or crash loses a written line; a torn one is never kept.
class ResultFile {
 public:
  /// Creates and locks OUT.partial. Error{kUsage}: OUT exists, or OUT.partial holds finished lines of an interrupted
  /// run (`force` gives up either), another run holds the lock, or the file cannot be created.
  ResultFile(std::string path, bool force);
  /// Leaves OUT.partial where it is unless nothing was written to it.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  /// Appends `row` and a newline by one write(2). `index` is the row's place in the finished file. Error{kEnvironment}
  /// if it cannot be written whole; the journal then ends with the row before.
  void write(int64_t index, std::string_view row);
  /// Puts the rows in order of index, makes them durable as OUT and removes the journal. Error{kEnvironment}.
  void finish();

 private:
  struct Piece {
    int64_t index, offset, size;
  };
  void copy_in_order(int target) const;

  std::string path_, journal_path_;
  int journal_ = -1;
  int64_t end_ = 0;  ///< bytes of whole lines in the journal
  std::vector<Piece> pieces_;
};

}  // namespace octet
