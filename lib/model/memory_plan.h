// What a rank will need, known before anything is loaded: weights by class, state per sequence and per token, scratch
// and logits; and what fits on a card. Pure: from the config alone, because the config decides every tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/kv_cache.h"
#include "model/stage.h"
#include "model/tensor_specs.h"
#include "options/options.h"

namespace octet {

/// Bytes of the rows that KvCache keeps under these numerics.
KvRowBytes kv_row_bytes(const ModelConfig& config, Numerics numerics);

/// A rank's weights of one element type; every tensor rounded up to the loader's alignment.
struct WeightClass {
  std::string name;  ///< "fp8", "fp4", "scales", "bf16", "fp32", "int64"
  int64_t split_bytes = 0, replicated_bytes = 0;
  int64_t bytes() const { return split_bytes + replicated_bytes; }
};
/// What rank `rank` of `ranks` of a stage holds; mtp.* is checked at loading, not held. Errors: those of check_ranks.
std::vector<WeightClass> weight_classes(const std::vector<TensorSpec>& specs, const Stage& stage, int rank, int ranks);

/// State of sequences, by kind; equal on every rank.
struct StateBytes {
  int64_t window = 0, raw = 0, index_raw = 0;  ///< rings: per sequence, whatever its length
  int64_t compressed = 0, index = 0;           ///< per page of kPageTokens tokens
  int64_t per_sequence() const { return window + raw + index_raw; }
  int64_t per_page() const { return compressed + index; }
};
StateBytes state_bytes(const ModelConfig& config, const Stage& stage, Numerics numerics);

/// What a run is planned for.
struct PlanSetup {
  int ranks = 8;
  int stages = 1;  ///< of the pipeline, all together `ranks`
  Numerics numerics = Numerics::kOfficial;
  int64_t batch = 16;   ///< sequences in flight
  int64_t context = 0;  ///< tokens of each
  int64_t pages = 0;    ///< of all of them together; 0: batch whole contexts
  int64_t prefill_chunk = 8192;
};

/// Tokens of the prompt by which a run proves itself at its start: every rank gets rows of a shared mix.
inline constexpr int64_t kProbeTokens = 16;
/// Tokens of the largest step: a chunk of prompts beside one decode row of every other sequence.
int64_t largest_step(int64_t prefill_chunk, int64_t batch, int64_t context);

/// Bytes of the rank that holds most.
struct MemoryPlan {
  PlanSetup setup;
  std::vector<WeightClass> weights;
  StateBytes state;
  int64_t weight_bytes = 0, cache_bytes = 0, scratch_bytes = 0;
  int64_t exchange_bytes = 0;  ///< for int8 sums through peer memory, where that is used
  int64_t logits_bytes = 0;    ///< on rank 0
  int64_t total_bytes() const { return weight_bytes + cache_bytes + scratch_bytes + exchange_bytes + logits_bytes; }
};

/// Plans for one model; the weights are counted once.
class MemoryPlanner {
 public:
  /// Errors: Error{kUsage} when the model does not divide by `ranks`.
  MemoryPlanner(ModelConfig config, int ranks, Numerics numerics, const CampaignOptions& campaign = {}, int stages = 1);
  MemoryPlan plan(int64_t batch, int64_t context, int64_t prefill_chunk, int64_t pages = 0) const;
  /// The largest batch whose sequences may all be `context` long; 0: not one. At most `most`.
  int64_t largest_batch(int64_t context, int64_t prefill_chunk, int64_t card_bytes, int64_t most) const;
  /// The longest context for `batch` sequences, in whole pages or the model's limit; 0: not one page.
  int64_t largest_context(int64_t batch, int64_t prefill_chunk, int64_t card_bytes) const;
  const ModelConfig& config() const { return config_; }
  /// Of a rank of the run.
  int64_t weight_bytes(int rank) const { return weight_bytes_[static_cast<size_t>(rank)]; }

 private:
  ModelConfig config_;
  int ranks_;
  Numerics numerics_;
  CampaignOptions campaign_;
  int stages_;
  Stage largest_stage_;                ///< of the rank whose weights are largest: the plan is for that one
  std::vector<int64_t> weight_bytes_;  ///< per rank
  std::vector<WeightClass> largest_;   ///< of the rank that holds most
};

}  // namespace octet
