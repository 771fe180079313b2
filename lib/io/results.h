// The output file of a run: OUT.partial while it runs (one whole line per write, in order of completion), OUT in input
// order at the end. Rank 0 owns the only one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/earlier_rows.h"

namespace octet {

/// The journal OUT.partial and what it becomes. No signal or crash loses a written line; a torn one is never kept.
class ResultFile {
 public:
  enum class Open {
    kFresh,   ///< neither OUT nor a finished line in OUT.partial may be there
    kForce,   ///< what is there is given up: OUT.partial now, OUT when the new one is finished
    kResume,  ///< goes on with OUT.partial; without it with a copy of OUT; without either afresh
  };
  using EarlierRow = octet::EarlierRow;
  using Clock = std::chrono::steady_clock;

  /// Opens and locks OUT.partial. Error{kUsage}: it would lose something (kFresh), another run holds the lock, or the
  /// file cannot be created. Error{kInput}: a line of an earlier run cannot be read (kResume).
  ResultFile(std::string path, Open how);
  /// Leaves OUT.partial where it is unless it says nothing that OUT does not.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  /// Whole rows found under kResume, in the order of the journal; empty otherwise.
  const std::vector<EarlierRow>& earlier() const { return earlier_; }
  /// The row earlier()[i] stays; `index` is its place in the finished file. Rows that are not kept are superseded:
  /// they leave with finish().
  void keep(size_t i, int64_t index);
  /// Appends `row` and a newline by one write(2). `index` is the row's place in the finished file. Error{kEnvironment}
  /// if it cannot be written whole; the journal then ends with the row before.
  void write(int64_t index, std::string_view row);
  /// Makes the rows so far durable if five seconds have passed since that was last done; true if it was done now. For a
  /// loop to call: a crash of the machine, unlike one of the process, loses no more than these seconds.
  bool sync_if_due(Clock::time_point now = Clock::now());

  /// Makes the rows durable as OUT, in order of index or, `unordered`, as the journal has them; the journal is gone
  /// then. Error{kEnvironment}.
  void finish(bool unordered);

 private:
  struct Piece {
    int64_t index, offset, size;
  };
  [[noreturn]] void refuse(const std::string& sentence);
  void open_journal();
  void copy_output_to_journal();
  void go_on();
  void copy_pieces(int target, const std::vector<Piece>& pieces, const std::string& name) const;
  void write_output(const std::vector<Piece>& pieces);

  std::string path_, journal_path_;
  int journal_ = -1;
  bool created_ = false;  ///< OUT.partial was not there before
  bool copied_ = false;   ///< OUT.partial began as a copy of OUT
  int64_t end_ = 0;       ///< bytes of whole lines in the journal
  std::vector<EarlierRow> earlier_;
  std::vector<Piece> pieces_;  ///< the rows of the finished file
  int64_t written_ = 0;        ///< of these, new ones
  int64_t synced_end_ = 0;
  Clock::time_point synced_at_ = Clock::now();
};

}  // namespace octet
