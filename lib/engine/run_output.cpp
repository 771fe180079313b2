// The loop's surroundings that talk to the disk, to people and to the other ranks.
#include "engine/run_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "engine/plan_hash.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void check_outputs(const std::string& input, const std::vector<std::string>& outputs, bool force) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto place = [&](const std::string& path) { return fs::weakly_canonical(path, ignored); };
  std::vector<fs::path> taken;
  if (input != "-") taken.push_back(place(input));
  for (const std::string& path : outputs) {
    if (path.empty()) continue;
    const fs::path folder = fs::absolute(path, ignored).parent_path();
    if (!fs::is_directory(folder, ignored)) {
      throw Error(Code::kUsage, fmt::format("the output {}: there is no folder {}", path, folder.string()));
    }
    if (std::find(taken.begin(), taken.end(), place(path)) != taken.end()) {
      throw Error(Code::kUsage, fmt::format("the output {} is also the input or another output", path));
    }
    taken.push_back(place(path));
    const fs::file_status status = fs::symlink_status(path, ignored);
    if (!fs::exists(status)) continue;
    if (!fs::is_regular_file(status)) {
      throw Error(Code::kUsage, fmt::format("the output {} exists and is no regular file", path));
    }
    if (!force) throw Error(Code::kUsage, fmt::format("the output {} exists; --force overwrites it", path));
  }
}

RunOutput::RunOutput(comm::MpiSession& session, const std::string& path, ResultFile::Open how) : session_(session) {
  session.funnel([&] {
    if (session.rank() == 0) file_ = std::make_unique<ResultFile>(path, how);
  });
}

void RunOutput::write(int64_t index, const Json& row) {
  if (!file_) return;
  const auto start = Clock::now();
  file_->write(index, row.dump());
  seconds_ += since(start);
}

void RunOutput::sync_if_due() {
  if (!file_) return;
  const auto start = Clock::now();
  file_->sync_if_due();
  seconds_ += since(start);
}

void RunOutput::finish(bool unordered) {
  const auto start = Clock::now();
  session_.funnel([&] {
    if (file_) file_->finish(unordered);
  });
  seconds_ += since(start);
}

void compare_plans(const BatchPlan& plan, comm::MpiSession& session) {
  const uint64_t own = plan_hash(plan);
  uint64_t first = own;
  session.broadcast(&first, sizeof first);
  session.funnel([&] {
    if (own != first) throw Error(Code::kSelfCheck, "has planned another step than rank 0");
  });
}

}  // namespace octet
