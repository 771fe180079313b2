// The collectives a layer may call, as overloads on the context. They stand visibly in the layers; nothing else
// communicates during a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/int8_codec.h"
#include "options/test_fault.h"

namespace octet::comm {

class MpiSession;

class PeerMemory;
struct StageHandle;

/// The ranks that share sums on the CPU: all of a run, or those of one pipeline stage. Rank w of the run is rank w %
/// size() of stage w / size(). Counts what the collectives did so far.
class Communicator {
 public:
  /// Collective over the session; its ranks must divide by `stages`.
  explicit Communicator(MpiSession& session, int stages = 1);
  /// Collective over the stage.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int stage() const { return stage_; }
  int stages() const { return stages_; }
  MpiSession& session() const { return *session_; }
  /// For the collectives of this folder (comm/mpi_handle.h).
  StageHandle& handle() const { return *handle_; }

  /// Collective over the stage: int8 sums of at most `most_blocks` blocks go through memory that the ranks read from
  /// one another. False on every rank, and sums go by messages, when they are not on one host. `timeout` in seconds, of
  /// every wait. Nothing to do for one rank, or when enough is mapped already.
  bool map_peer_memory(int64_t most_blocks, double timeout);
  /// Null without.
  PeerMemory* peers() const { return peers_.get(); }
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
  std::unique_ptr<StageHandle> handle_;
  std::unique_ptr<PeerMemory> peers_;
  int rank_ = 0, size_ = 1;
  int stage_ = 0, stages_ = 1;
  double seconds_ = 0;
  int64_t reductions_ = 0;
  std::vector<int64_t> by_site_;
};

/// Ranks that share the sum; 1 without a communicator.
int ranks(const cpu::Context&);
int rank(const cpu::Context&);
/// Stages of the pipeline; 1 without a communicator.
int stages(const cpu::Context&);

/// x = sum over ranks of x, added in rank order in fp32 and rounded once to the element type: every rank gets the same
/// bytes, whatever the message size and the MPI library.   x [n, m], in place. `site` is where a layer does it, for the
/// watchdog's message.
void all_reduce(cpu::Context&, Mat<float> x, std::optional<Site> site = {});
void all_reduce(cpu::Context&, Mat<bf16> x, std::optional<Site> site = {});

/// Whether all_reduce sends every addend to every rank (elements <= 2^13), instead of shares and then their sums.
bool is_one_shot(int64_t elements);

/// out = the sum over the stage's ranks of x as int8 codes, the same bytes on every rank. Each rank encodes its x by
/// blocks of 32; the owner of a block (share_of the T * D / 32 blocks) adds the decoded addends in rank order in fp64
/// and encodes the sum again; everyone copies the owner's bytes. A block's result depends on nothing but the ranks'
/// values of that block, nor on whether they travel through peer memory or by messages.   x [T, D] fp32, D a multiple
/// of 32; out.q [T, D], out.scale [T, D / 32].   Source: spec collectives.md 2.
void all_reduce_int8(cpu::Context&, const int8::Rows& out, Mat<const float> x, std::optional<Site> site = {});

/// whole [T, n]: every rank has written the rows of its share_of(T); after the call all rows are there on every rank.
void all_gather_rows(cpu::Context&, Mat<float> whole, std::optional<Site> site = {});

/// whole[s, r * n + i] = part[s, i] of rank r.   part [S, n]; whole [S, ranks * n] on rank 0, empty elsewhere.
void gather_columns(cpu::Context&, Mat<float> whole, Mat<const float> part);

/// x = x of rank 0 of the run, on all ranks of all stages.
void broadcast(cpu::Context&, Vec<int32_t> x);

/// Rows for the same rank of the next stage: returns when it has them, which may be when it has done with those before.
void hand_over(cpu::Context&, std::span<const std::byte> rows);
/// The rows of the same rank of the stage before.
void take_over(cpu::Context&, std::span<std::byte> rows);

/// The last stage's logits, of its rank 0, to rank 0 of the run. Does nothing where that is one rank, and on others.
void deliver_logits(cpu::Context&, std::span<float> logits);

}  // namespace octet::comm
