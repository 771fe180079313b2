// The log keeps two words of process state (rank and level), set once by main before any other thread exists.
#include "base/log.h"

#include <chrono>
#include <cstdio>

namespace octet::log {
namespace {

struct State {
  int rank = 0;
  Level lowest = Level::kInfo;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

State& state() {
  static State s;
  return s;
}

constexpr std::string_view prefix(Level level) {
  switch (level) {
    case Level::kDebug: return "debug: ";
    case Level::kInfo: return "";
    case Level::kWarn: return "warning: ";
    case Level::kError: return "error: ";
  }
  return "";
}

}  // namespace

void configure(int rank, Level lowest) {
  state().rank = rank;
  state().lowest = lowest;
}

void write(Level level, std::string_view sentence) {
  const State& s = state();
  if (level < s.lowest || (level < Level::kWarn && s.rank != 0)) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - s.start).count();
  const std::string line = fmt::format("[rank {} {:7.2f}s] {}{}\n", s.rank, seconds, prefix(level), sentence);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines of different ranks do not interleave
}

}  // namespace octet::log
