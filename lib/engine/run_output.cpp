// The loop's surroundings that talk to the disk, to people and to the other ranks.
#include "engine/run_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
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

RunOutput::RunOutput(comm::MpiSession& session, const std::string& path, bool force) : session_(session) {
  session.funnel([&] {
    if (session.rank() == 0)
      file_ = std::make_unique<ResultFile>(path, force ? ResultFile::Open::kForce : ResultFile::Open::kFresh);
  });
}

void RunOutput::write(int64_t index, const Json& row) {
  if (!file_) return;
  const auto start = Clock::now();
  file_->write(index, row.dump());
  seconds_ += since(start);
}

void RunOutput::finish() {
  const auto start = Clock::now();
  session_.funnel([&] {
    if (file_) file_->finish(/*unordered=*/false);
  });
  seconds_ += since(start);
}

void Progress::step(const StepRecord& record, int64_t done) {
  constexpr int64_t kPeriodUs = 5'000'000;
  prefill_rows_ += record.prefill_rows;
  decode_rows_ += record.decode_rows;
  if (record.end_us - logged_us_ < kPeriodUs) return;
  logged_us_ = record.end_us;
  const double seconds = static_cast<double>(record.end_us) * 1e-6;
  const std::string left =
      done == 0
          ? "unknown"
          : fmt::format("about {:.0f} s", seconds * static_cast<double>(total_ - done) / static_cast<double>(done));
  log::info("{} of {} prompts done, {} prompt tokens fed, {} tokens decoded ({:.1f} tok/s), left: {}", done, total_,
            prefill_rows_, decode_rows_, static_cast<double>(decode_rows_) / seconds, left);
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
