// The one virtual interface: a step on one backend. The engine sees nothing else of the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "model/batch.h"
#include "model/config.h"
#include "options/campaign_counts.h"
#include "options/options.h"
#include "options/test_fault.h"

namespace octet {
namespace comm {
class MpiSession;
}

/// Where the seconds of all steps so far went, and bytes held; this rank's own.
struct RunnerReport {
  double load_seconds = 0, step_seconds = 0, reduce_seconds = 0, sample_seconds = 0;
  int64_t weight_bytes = 0, cache_bytes = 0, scratch_bytes = 0;
  int64_t exchange_bytes = 0;     ///< memory that peers read
  int64_t load_bytes = 0;         ///< read from files
  int stage = 0, stage_rank = 0;  ///< of the pipeline, and this rank's place in it
  CampaignCounts campaign = {};
  HealthBySite health = {};
};

/// Capacity the engine plans with; fixed when the runner is made.
struct RunnerCapacity {
  int64_t slots = 0;  ///< sequences that may be in flight
  int64_t pages = 0;  ///< pages of kPageTokens tokens, shared by all slots
  int64_t max_seq_len = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs one step and returns the drawn token of each plan.samples entry, equal on every rank: -1 where !draw,
  /// kNotFiniteToken where the logits are not finite and the run may go on.
  virtual std::span<const TokenId> step(const BatchPlan& plan) = 0;
  /// Logits of the last step's samples, [samples, V] fp32, on rank 0; empty elsewhere.
  virtual Mat<const float> logits() const = 0;
  /// From the next step on: these flags of the campaign, and in test builds this fault. The same on every rank, between
  /// steps. Error{kUsage} for flags that contradict one another.
  virtual void use(const CampaignOptions& campaign, const std::optional<TestFault>& fault) = 0;
  /// Collective: the start-up self-check with the flags and the fault in use. The sentence of what is wrong, the same
  /// on every rank; empty: nothing. Forgets all sequences.
  virtual std::string check() = 0;
  virtual RunnerReport report() const = 0;
  virtual RunnerCapacity capacity() const = 0;
};

/// Receives "layerK" and the residual streams [T, hc, D] (as fp32) after that layer's last post, once per step and
/// layer.
using StreamTap = std::function<void(std::string_view name, Cube<const float> streams)>;

struct RunnerSetup {
  std::string model_dir;
  ModelConfig config;
  RunOptions run;
  RunnerCapacity capacity;
  comm::MpiSession* session = nullptr;
  StreamTap tap;  ///< may be empty
};

std::unique_ptr<Runner> make_cpu_runner(const RunnerSetup&);
std::unique_ptr<Runner> make_cuda_runner(const RunnerSetup&);  ///< Error{kEnvironment} in a build without CUDA

}  // namespace octet
