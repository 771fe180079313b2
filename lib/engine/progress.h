// How far a run is and how long it will take: lines or a bar on stderr, and the status file. Rank 0 owns the only one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/loop.h"
#include "engine/status_file.h"
#include "options/options.h"

namespace octet {

/// Known before the first step.
struct ProgressTotals {
  int64_t items = 0;          ///< lines of the input
  int64_t prompt_tokens = 0;  ///< to be fed by this run
  int64_t kept = 0;           ///< lines that an earlier run has answered
  int64_t kept_failed = 0;    ///< of these, with an error
  int ranks = 1;
};

/// What this run has done so far.
struct ProgressState {
  int64_t done = 0;  ///< lines it has completed, without failed and kept ones
  int64_t failed = 0;
  int64_t completions = 0;  ///< of the lines done
  int64_t completion_tokens_of_done = 0;
};

/// The figures behind the words. Time is that of the step records.
/// Seconds left = prompt tokens left x seconds per prompt token + decode steps left x seconds per decode step, each as
/// measured so far; the time of a step is shared in proportion to its rows. Decode steps left = (lines left x mean
/// length of the finished completions - tokens of the running ones) / sequences in a decode step + a tail: the batch
/// drains while the longest of the last sequences decodes on, for as long as the longest finished one was longer than
/// the mean. Short completions finish first, so the estimate grows at the beginning of a run.
class ProgressMeter {
 public:
  explicit ProgressMeter(const ProgressTotals& totals) : totals_(totals) {}
  void step(const StepRecord& record, const ProgressState& state);

  /// Nothing before the first completion, unless nothing is left.
  std::optional<double> seconds_left() const;
  /// All but memory.
  Status status(RunState state) const;
  const ProgressTotals& totals() const { return totals_; }

 private:
  int64_t items_left() const { return totals_.items - totals_.kept - state_.done - state_.failed; }
  double decode_steps_left() const;

  ProgressTotals totals_;
  ProgressState state_;
  int64_t now_us_ = 0;
  int64_t prefill_rows_ = 0, decode_rows_ = 0, decode_steps_ = 0;
  double prefill_us_ = 0, decode_us_ = 0;
  double longest_ = 0;  ///< tokens of a completion; the mean where several ended in one step
};

/// "12 of 100 lines done, 1 of them failed; 3400 of 20000 prompt tokens, 950 completion tokens, 41.2 tok/s, about 3 min
/// left".
std::string progress_sentence(const Status& status, int64_t prompt_tokens_in_all);
/// "[######....]  60 %  6/10, 1 failed, 41.2 tok/s, about 3 min left", a line without an end.
std::string progress_bar(const Status& status);
/// "40 s", "12 min", "3 h 20 min".
std::string duration_words(double seconds);

/// kAuto: a line of the log every five seconds, also under mpirun, where no rank can know whether a person watches
/// (each has a terminal of mpirun's as stdout). kBar: one line on stderr, redrawn. kNone: nothing.
class Progress {
 public:
  /// `status_path` may be empty.
  Progress(const ProgressTotals& totals, ProgressStyle style, std::string status_path);
  /// Without an end() before it: the run was interrupted if there was a stop signal, else it failed.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After every step.
  void step(const StepRecord& record, const ProgressState& state);
  /// The last status.
  void end(RunState state);

 private:
  Status status(RunState state) const;
  void draw(const Status& status);

  ProgressMeter meter_;
  ProgressStyle style_;
  StatusFile file_;
  int64_t shown_us_ = 0, now_us_ = 0;
  size_t drawn_ = 0;  ///< columns of the bar that is on the screen
  bool ended_ = false;
};

}  // namespace octet
