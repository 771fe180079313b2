// The handler touches one word and restores what the next signal does; everything else is for the loop to do.
#include "base/stop_signal.h"

#include <sys/prctl.h>

#include <atomic>
#include <csignal>

namespace octet {
namespace {

constexpr int kStopSignals[] = {SIGINT, SIGTERM};

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may touch nothing else");

extern "C" void note_stop(int signal) {
  received.store(signal, std::memory_order_relaxed);
  for (const int each : kStopSignals) ::signal(each, SIG_DFL);  // the next one, of either kind, ends the process
}

}  // namespace

void catch_stop_signals() {
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = note_stop;
    action.sa_flags = SA_RESTART;  // no system call of ours, or of MPI, may fail for it
    for (const int each : kStopSignals) ::sigaddset(&action.sa_mask, each);
    ::sigaction(signal, &action, nullptr);
  }
}

void stop_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void ignore_broken_pipes() {
  ::signal(SIGPIPE, SIG_IGN);
}

bool stop_requested() {
  return received.load(std::memory_order_relaxed) != 0;
}

std::string_view stop_signal() {
  switch (received.load(std::memory_order_relaxed)) {
    case 0: return "";
    case SIGINT: return "SIGINT";
    default: return "SIGTERM";
  }
}

}  // namespace octet
