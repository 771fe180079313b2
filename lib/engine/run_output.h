// Rank 0's side of a run: the result file with its time, and checks that need more than one rank or file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "comm/mpi_session.h"
#include "engine/loop.h"
#include "io/results.h"

namespace octet {

/// The result file on rank 0; nothing on the others, where every member does nothing.
class RunOutput {
 public:
  /// Collective. Errors: as ResultFile.
  RunOutput(comm::MpiSession& session, const std::string& path, ResultFile::Open how);

  bool here() const { return file_ != nullptr; }
  /// On rank 0.
  ResultFile& file() { return *file_; }
  void write(int64_t index, const Json& row);
  /// Makes the rows durable now and then.
  void sync_if_due();
  /// Collective: the finished file.
  void finish(bool unordered = false);
  /// Spent in write() and finish().
  double seconds() const { return seconds_; }

 private:
  comm::MpiSession& session_;
  std::unique_ptr<ResultFile> file_;
  double seconds_ = 0;
};

/// Exit status of a run that came to its end: 0, or 3 when some lines have errors.
constexpr int exit_status(int64_t item_errors) {
  return item_errors > 0 ? 3 : 0;
}

/// Error{kUsage}, before any work is done, for an output that cannot be or must not be written: it exists and `force`
/// is not set, it is no regular file, its folder does not exist, it is the input, or another output has the same name.
/// Empty names are outputs that were not asked for.
void check_outputs(const std::string& input, const std::vector<std::string>& outputs, bool force);

/// Collective: Error{kSelfCheck} if the plan differs from rank 0's. Compiled in always, called in builds with tests.
void compare_plans(const BatchPlan& plan, comm::MpiSession& session);

}  // namespace octet
