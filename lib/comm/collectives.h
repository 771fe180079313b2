// The collectives a layer may call, as overloads on the context. They stand visibly in the layers; nothing else
// communicates during a step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/int8_codec.h"
#include "options/test_fault.h"

namespace octet::comm {

class MpiSession;

/// One step's view of the ranks on the CPU: who am I, and how long the collectives took so far.
class Communicator {
 public:
  explicit Communicator(MpiSession& session);
  int rank() const { return rank_; }
  int size() const { return size_; }
  MpiSession& session() const { return *session_; }
  double seconds() const { return seconds_; }
  int64_t reductions() const { return reductions_; }

  /// All-reduces at one site of the layers so far.
  int64_t reductions_at(const Site& site) const {
    const size_t index = site_index(site);
    return index < by_site_.size() ? by_site_[index] : 0;
  }

  /// Adds to the totals; called by the collectives.
  void count(double seconds) { seconds_ += seconds; }
  void count_reduction(const std::optional<Site>& site) {
    ++reductions_;
    if (!site) return;
    if (site_index(*site) >= by_site_.size()) by_site_.resize(site_index(*site) + 1);
    ++by_site_[site_index(*site)];
  }
  /// Totals from zero, after a start-up check.
  void forget() {
    seconds_ = 0;
    reductions_ = 0;
    by_site_.clear();
  }

 private:
  MpiSession* session_;
  int rank_;
  int size_;
  double seconds_ = 0;
  int64_t reductions_ = 0;
  std::vector<int64_t> by_site_;
};

/// Ranks that share the sum; 1 without a communicator.
int ranks(const cpu::Context&);
int rank(const cpu::Context&);

/// x = sum over ranks of x, added in rank order in fp32 and rounded once to the element type: every rank gets the same
/// bytes, whatever the message size and the MPI library.   x [n, m], in place. `site` is where a layer does it, for the
/// watchdog's message.
void all_reduce(cpu::Context&, Mat<float> x, std::optional<Site> site = {});
void all_reduce(cpu::Context&, Mat<bf16> x, std::optional<Site> site = {});

/// out = the sum over ranks of x as int8 codes, the same bytes on every rank. Each rank encodes its x by blocks of 32;
/// the owner of a block (share_of the T * D / 32 blocks) adds the decoded addends in rank order in fp64 and encodes the
/// sum again; everyone copies the owner's bytes. A block's result depends on nothing but the ranks' values of that
/// block.   x [T, D] fp32, D a multiple of 32; out.q [T, D], out.scale [T, D / 32].   Source: spec collectives.md 2.
void all_reduce_int8(cpu::Context&, const int8::Rows& out, Mat<const float> x, std::optional<Site> site = {});

/// whole [T, n]: every rank has written the rows of its share_of(T); after the call all rows are there on every rank.
void all_gather_rows(cpu::Context&, Mat<float> whole, std::optional<Site> site = {});

/// whole[s, r * n + i] = part[s, i] of rank r.   part [S, n]; whole [S, ranks * n] on rank 0, empty elsewhere.
void gather_columns(cpu::Context&, Mat<float> whole, Mat<const float> part);

/// x = rank 0's x.
void broadcast(cpu::Context&, Vec<int32_t> x);

}  // namespace octet::comm
