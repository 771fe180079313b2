// See signals.h. A peer may be one phase ahead, never two: START and END alternate, and each needs everyone.
#include "comm/signals.h"

#include <fmt/core.h>
#include <sched.h>

#include <utility>

#include "base/error.h"
#include "comm/breadcrumbs.h"

namespace octet::comm {
namespace {

constexpr int kSpinsPerLook = 64;  // at the clock and at gave_up

std::string_view phase_name(Phase phase) {
  return phase == Phase::kStart ? "start" : "end";
}

/// Whether `seen` has reached `epoch`, over the wrap-around of 32 bits. Monotonic: a peer that is ahead has reached it
/// too; a test for equality would miss it and wait for ever.
bool has_reached(uint32_t seen, uint32_t epoch) {
  return static_cast<int32_t>(seen - epoch) >= 0;
}

std::string place_of(const std::optional<Site>& site) {
  return site ? fmt::format(" at {}", site_text(*site)) : "";
}

}  // namespace

Barrier::Barrier(std::vector<Signals*> signals, int rank, Seconds timeout, uint32_t first_epoch)
    : signals_(std::move(signals)), rank_(rank), timeout_(timeout), epoch_(first_epoch) {
  require(signals_.size() <= static_cast<size_t>(kMostRanks), "more ranks than a barrier has words for");
}

void Barrier::start(uint32_t size, const std::optional<Site>& site) {
  ++epoch_;
  for (Signals* peer : signals_) peer->announced[rank_].value.store(size, std::memory_order_relaxed);
  pass(Phase::kStart, site);
  for (size_t r = 0; r < signals_.size(); ++r) {
    const uint32_t theirs = signals_[static_cast<size_t>(rank_)]->announced[r].value.load(std::memory_order_relaxed);
    if (theirs == size) continue;
    throw Error(Code::kSelfCheck,
                fmt::format("rank {} sums {} blocks in an int8 all-reduce{} and rank {} sums {}: the ranks do not run "
                            "the same step",
                            rank_, size, place_of(site), r, theirs));
  }
}

void Barrier::end(const std::optional<Site>& site) {
  pass(Phase::kEnd, site);
}

/// All channels arrive before the first is waited for, so that they cost one wait together.
void Barrier::pass(Phase phase, const std::optional<Site>& site) {
  for (int channel = 0; channel < kChannels; ++channel) {
    for (Signals* peer : signals_) {
      peer->arrived[static_cast<int>(phase)][channel][rank_].value.store(epoch_, std::memory_order_release);
    }
  }
  for (int channel = 0; channel < kChannels; ++channel) {
    if (!await(phase, channel)) give_up(phase, channel, site);
  }
}

/// False when the time is over, or when another rank gave up.
bool Barrier::await(Phase phase, int channel) {
  const Signals& own = *signals_[static_cast<size_t>(rank_)];
  const auto begin = std::chrono::steady_clock::now();
  for (size_t r = 0; r < signals_.size(); ++r) {
    const std::atomic<uint32_t>& word = own.arrived[static_cast<int>(phase)][channel][r].value;
    for (int spins = 1; !has_reached(word.load(std::memory_order_acquire), epoch_); ++spins) {
      ::sched_yield();  // ranks may outnumber cores
      if (spins % kSpinsPerLook != 0) continue;
      const bool over = std::chrono::steady_clock::now() - begin > timeout_;
      if (over || own.gave_up.value.load(std::memory_order_relaxed) != 0) return false;
    }
  }
  return true;
}

std::vector<int> Barrier::missing(Phase phase, int channel) const {
  const Signals& own = *signals_[static_cast<size_t>(rank_)];
  std::vector<int> ranks;
  for (size_t r = 0; r < signals_.size(); ++r) {
    const uint32_t seen = own.arrived[static_cast<int>(phase)][channel][r].value.load(std::memory_order_acquire);
    if (!has_reached(seen, epoch_)) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

void Barrier::give_up(Phase phase, int channel, const std::optional<Site>& site) {
  const std::vector<int> absent = missing(phase, channel);
  const uint32_t first = signals_[static_cast<size_t>(rank_)]->gave_up.value.load(std::memory_order_relaxed);
  for (Signals* peer : signals_) {
    uint32_t nobody = 0;
    peer->gave_up.value.compare_exchange_strong(nobody, static_cast<uint32_t>(rank_) + 1);
  }
  if (absent.empty()) {  // they came while this rank was leaving
    throw Error(Code::kWatchdog,
                fmt::format("an int8 all-reduce{} ends because rank {} gave up waiting in it (rank {})", place_of(site),
                            first - 1, rank_));
  }
  const auto seen =
      signals_[static_cast<size_t>(rank_)]->arrived[static_cast<int>(phase)][channel][absent.front()].value.load(
          std::memory_order_relaxed);
  throw Error(Code::kWatchdog,
              fmt::format("an int8 all-reduce{} waits for {}: not come to its {} within {:.1f} s (rank {}, channel {}, "
                          "epoch {} expected, {} seen)",
                          place_of(site), rank_list(absent), phase_name(phase), timeout_.count(), rank_, channel,
                          epoch_, seen));
}

}  // namespace octet::comm
