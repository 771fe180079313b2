// A small JSON file that says how a run is doing, for `watch`, dashboards and job scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace octet {

enum class RunState { kRunning, kFinished, kInterrupted, kFailed };
constexpr std::string_view run_state_name(RunState state) {
  switch (state) {
    case RunState::kRunning: return "running";
    case RunState::kFinished: return "finished";
    case RunState::kInterrupted: return "interrupted";
    case RunState::kFailed: return "failed";
  }
  return "?";
}

/// Counts of lines and tokens so far; `done` includes failed lines and those of an earlier run.
struct Status {
  RunState state = RunState::kRunning;
  int64_t done = 0, failed = 0, total = 0;
  int64_t prompt_tokens = 0, completion_tokens = 0;  ///< by this run
  double tokens_per_second = 0;                      ///< completion tokens of this run
  std::optional<double> eta_seconds = {};            ///< nothing before the first completion
  double seconds = 0;                                ///< since the loop began
  int ranks = 1;
  int64_t resident_bytes = 0;  ///< of rank 0
};

/// {"state","done","failed","total","prompt_tokens","completion_tokens","tok_s","eta_s","seconds","ranks",
/// "resident_bytes"}
Json status_json(const Status& status);

/// Bytes of this process in memory; 0 if the system does not say.
int64_t resident_bytes();

/// Replaced as a whole: a reader sees the old status or the new one. A status that cannot be written is warned of once
/// and never ends a run.
class StatusFile {
 public:
  /// An empty path: there is no file, and nothing happens.
  explicit StatusFile(std::string path) : path_(std::move(path)) {}

  /// Whether two seconds have passed since the last write; `now_us` counts from any moment.
  bool is_due(int64_t now_us) const;
  void write(const Status& status, int64_t now_us);

 private:
  std::string path_;
  std::optional<int64_t> written_us_;
  bool warned_ = false;
};

}  // namespace octet
