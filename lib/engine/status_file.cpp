// See status_file.h.
#include "engine/status_file.h"

#include <unistd.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "base/replace_file.h"

namespace octet {
namespace {

constexpr int64_t kPeriodUs = 2'000'000;

double rounded(double x) {
  return std::round(x * 10) / 10;
}

}  // namespace

Json status_json(const Status& status) {
  return Json::object({{"state", run_state_name(status.state)},
                       {"done", status.done},
                       {"failed", status.failed},
                       {"total", status.total},
                       {"prompt_tokens", status.prompt_tokens},
                       {"completion_tokens", status.completion_tokens},
                       {"tok_s", rounded(status.tokens_per_second)},
                       {"eta_s", status.eta_seconds ? Json(rounded(*status.eta_seconds)) : Json()},
                       {"seconds", rounded(status.seconds)},
                       {"ranks", status.ranks},
                       {"resident_bytes", status.resident_bytes}});
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");  // pages: all, resident, ...
  int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

bool StatusFile::is_due(int64_t now_us) const {
  return !path_.empty() && (!written_us_ || now_us - *written_us_ >= kPeriodUs);
}

void StatusFile::write(const Status& status, int64_t now_us) {
  if (path_.empty()) return;
  written_us_ = now_us;
  try {
    replace_file(path_, status_json(status).dump() + "\n", Durability::kProcess);
  } catch (const Error& error) {
    if (!warned_) log::warn("{}; the run goes on without a status", error.what());
    warned_ = true;
  }
}

}  // namespace octet
