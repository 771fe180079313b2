// The figures of a run: what --summary writes and the table at its end.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/loop.h"
#include "engine/sequence.h"
#include "runtime/runner.h"

namespace octet {

/// One rank's report and its largest resident set.
struct RankReport {
  RunnerReport runner;
  int64_t peak_rss_bytes = 0;
};

/// A value and how often it occurred.
struct Weighted {
  double value = 0;
  int64_t count = 0;
};

/// The p-th percentile (0..100) with linear interpolation at rank p/100*(n-1); 0 when there is nothing.
double percentile(std::vector<Weighted> values, double p);

/// Collects what the loop reports. Definitions of rates:
/// - the time of a step is shared by prefill and decode in proportion to their rows;
/// - prefill tok/s = prompt tokens fed / prefill time; decode tok/s = decode rows (tokens after the first) / decode
/// time.
/// - an inter-token gap is the time from one step's end to the next's, once per sequence that decodes in it.
class RunSummary {
 public:
  void add_error(std::string_view code) { ++errors_[std::string(code)]; }
  void add(const Finished& finished, const Timing& timing);
  void add_line() { ++lines_; }  ///< answered; it may have had several completions
  void set_steps(std::vector<StepRecord> steps) { steps_ = std::move(steps); }
  void add_write_seconds(double seconds) { write_seconds_ += seconds; }

  int64_t failed() const;
  int64_t lines() const { return lines_; }
  int64_t completions() const { return static_cast<int64_t>(ttft_.size()); }
  int64_t output_tokens() const { return output_tokens_; }

  /// `ranks` in rank order, at least one.
  Json to_json(const std::vector<RankReport>& ranks) const;
  /// The same in a few lines for people.
  std::vector<std::string> table(const std::vector<RankReport>& ranks) const;

 private:
  struct Rates {
    double seconds = 0, prefill_tok_s = 0, decode_tok_s = 0;
  };
  Rates rates() const;
  std::vector<Weighted> gaps_ms() const;

  std::map<std::string, int64_t> errors_;
  std::vector<Weighted> ttft_, total_;  ///< ms
  std::vector<StepRecord> steps_;
  int64_t lines_ = 0;
  int64_t input_tokens_ = 0, cached_tokens_ = 0, output_tokens_ = 0;
  double write_seconds_ = 0;
};

}  // namespace octet
