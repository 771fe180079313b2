// The collectives a layer may call, as overloads on the context. They stand visibly in the layers; nothing else
// communicates during a step.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
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

  /// Adds to the totals; called by the collectives.
  void count(double seconds, int64_t reductions) {
    seconds_ += seconds;
    reductions_ += reductions;
  }

 private:
  MpiSession* session_;
  int rank_;
  int size_;
  double seconds_ = 0;
  int64_t reductions_ = 0;
};

/// Ranks that share the sum; 1 without a communicator.
int ranks(const cpu::Context&);
int rank(const cpu::Context&);

/// x = sum over ranks of x, added in rank order in fp32 and rounded once to the element type: every rank gets the same
/// bytes, whatever the message size and the MPI library.   x [n, m], in place. `site` is where a layer does it, for the
/// watchdog's message.
void all_reduce(cpu::Context&, Mat<float> x, std::optional<Site> site = {});
void all_reduce(cpu::Context&, Mat<bf16> x, std::optional<Site> site = {});

/// whole[s, r * n + i] = part[s, i] of rank r.   part [S, n]; whole [S, ranks * n] on rank 0, empty elsewhere.
void gather_columns(cpu::Context&, Mat<float> whole, Mat<const float> part);

/// x = rank 0's x.
void broadcast(cpu::Context&, Vec<int32_t> x);

}  // namespace octet::comm
