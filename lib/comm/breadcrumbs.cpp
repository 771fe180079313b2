// Words for what the breadcrumbs say.
#include "comm/breadcrumbs.h"

#include <fmt/core.h>

#include <algorithm>

namespace octet::comm {
namespace {

constexpr int kSiteShift = 8;
constexpr int kLayerShift = 16;

std::string_view collective_name(Collective what) {
  switch (what) {
    case Collective::kAllReduce: return "all-reduce";
    case Collective::kInt8AllReduce: return "int8 all-reduce";
    case Collective::kAllGather: return "all-gather";
    case Collective::kGather: return "gather";
    case Collective::kBroadcast: return "broadcast";
    case Collective::kBarrier: return "barrier";
    case Collective::kAgreement: return "agreement";
    case Collective::kHandOver: return "hand-over";
  }
  return "?";
}

std::string place_text(const Place& place) {
  if (place.site) return site_text(*place.site);
  switch (place.what) {
    case Collective::kAllReduce: return "embedding";
    case Collective::kInt8AllReduce: return "outside the layers";
    case Collective::kAllGather: return "rows";
    case Collective::kHandOver: return "to the next stage";
    case Collective::kGather: return "logits";
    case Collective::kBroadcast: return "tokens";
    case Collective::kBarrier:
    case Collective::kAgreement: return "between steps";
  }
  return "?";
}

/// Collectives are counted from 1; `moves` is that of a rank inside it or after it.
uint64_t number_of(uint64_t moves) {
  return (moves + 1) / 2;
}

bool inside(const RankView& rank) {
  return rank.moves % 2 == 1;
}

std::string collective_text(const RankView& rank) {
  return fmt::format("{} #{} ({})", collective_name(rank.place.what), number_of(rank.moves), place_text(rank.place));
}

bool is_behind(const RankView& rank, const RankView& own) {
  return rank.stage == own.stage ? rank.moves < own.moves : !inside(rank);
}

template <class Is>
std::vector<size_t> indices_where(const std::vector<RankView>& ranks, Is is) {
  std::vector<size_t> found;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (is(ranks[i])) found.push_back(i);
  }
  return found;
}

/// The ranks that keep `own` waiting. A rank that runs and is inside an earlier collective waits too, for it needs the
/// culprit's part there: so first those behind `own` that do not run at all, then those behind it and outside any
/// collective, then all behind it; if none is behind, those that stopped inside its collective. Ranks of another
/// pipeline stage enter other collectives, so their numbers say nothing: they are behind while they are in none.
std::vector<size_t> culprits(const std::vector<RankView>& ranks, size_t own) {
  const auto behind = [&](const RankView& r) { return is_behind(r, ranks[own]); };
  const auto halted = [](const RankView& r) { return r.process != RankView::Process::kRuns; };
  const auto elsewhere = [&](const RankView& r) { return r.stage != ranks[own].stage; };
  std::vector<size_t> found = indices_where(ranks, [&](const RankView& r) { return behind(r) && halted(r); });
  if (found.empty()) found = indices_where(ranks, [&](const RankView& r) { return elsewhere(r) && halted(r); });
  if (found.empty()) found = indices_where(ranks, [&](const RankView& r) { return behind(r) && !inside(r); });
  if (found.empty()) found = indices_where(ranks, behind);
  if (found.empty()) found = indices_where(ranks, halted);
  return found;
}

std::string explanation(const RankView& culprit) {
  const std::string last = culprit.moves < 2 && !inside(culprit)
                               ? fmt::format("it is in step {} and has entered none yet", culprit.step)
                               : fmt::format("its last one was {}, in step {}", collective_text(culprit), culprit.step);
  switch (culprit.process) {
    case RankView::Process::kStopped: return fmt::format("its process is stopped; {}", last);
    case RankView::Process::kGone: return fmt::format("its process is gone; {}", last);
    case RankView::Process::kRuns: break;
  }
  return fmt::format("its process runs; {}; if it only computes for long, give a longer --timeout", last);
}

/// The ranks that are no culprits: they wait.
std::vector<int> waiting_ranks(const std::vector<RankView>& ranks, const std::vector<size_t>& slow) {
  std::vector<int> waiting;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (std::find(slow.begin(), slow.end(), i) == slow.end()) waiting.push_back(ranks[i].rank);
  }
  return waiting;
}

std::string_view verb(const std::vector<int>& ranks) {
  return ranks.size() == 1 ? "waits" : "wait";
}

}  // namespace

uint64_t pack(const Place& place) {
  uint64_t word = static_cast<uint64_t>(place.what);
  if (!place.site) return word;
  word |= (place.site->kind == Site::Kind::kAttn ? 1u : 2u) << kSiteShift;
  return word | static_cast<uint64_t>(place.site->layer) << kLayerShift;
}

Place unpack(uint64_t word) {
  Place place{.what = static_cast<Collective>(word & 0xff)};
  const uint64_t half = (word >> kSiteShift) & 0xff;
  if (half == 0) return place;
  place.site = Site{static_cast<int64_t>(word >> kLayerShift), half == 1 ? Site::Kind::kAttn : Site::Kind::kFfn};
  return place;
}

bool culprit_is_here(const std::vector<RankView>& ranks, size_t own) {
  return !culprits(ranks, own).empty();
}

std::string hang_message(const std::vector<RankView>& ranks, size_t own, int world, double seconds) {
  const std::string where = collective_text(ranks[own]);
  const std::vector<size_t> slow = culprits(ranks, own);
  const std::vector<int> waiting = waiting_ranks(ranks, slow);
  if (slow.empty()) {
    const bool elsewhere = ranks.size() < static_cast<size_t>(world);
    return fmt::format("{} {} in {} for {:.0f} s; {}", rank_list(waiting), verb(waiting), where, seconds,
                       elsewhere ? "a rank of another host has not entered it, or the network between them is stuck"
                                 : "all have entered it and none leaves: MPI does not deliver");
  }
  std::vector<int> names;
  for (const size_t i : slow) names.push_back(ranks[i].rank);
  const bool one = names.size() == 1;
  const bool behind = is_behind(ranks[slow[0]], ranks[own]);
  const std::string_view deed =
      behind ? (one ? "has not entered" : "have not entered") : (one ? "does not leave" : "do not leave");
  const std::string others = waiting.empty() ? "" : fmt::format("; {} {} there", rank_list(waiting), verb(waiting));
  return fmt::format("{} {} {} for {:.0f} s{}; {}", rank_list(names), deed, where, seconds, others,
                     explanation(ranks[slow[0]]));
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    const size_t count = end - i;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[i]);
    if (count == 2) text += fmt::format(", {}", ranks[i + 1]);
    if (count > 2) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace octet::comm
