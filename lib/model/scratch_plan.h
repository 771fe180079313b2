// How much scratch a step of the CPU backend takes: the same allocations in the same order as lib/layers and
// kernels/cpu make them, played on a model of the arena.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/stage.h"
#include "options/options.h"

namespace octet {

/// The largest step of a run.
struct StepSize {
  int64_t tokens = 0;    ///< rows of the step
  int64_t segments = 0;  ///< sequences in it
  int64_t samples = 0;   ///< rows whose logits are wanted
  int64_t context = 0;   ///< longest sequence, in tokens
};

/// Bytes the arena holds after such a step, at most: an expert may get all tokens, and one sequence all rows but the
/// other sequences' one.
/// A step of a pipeline runs in micro-batches, so this is generous there.
int64_t scratch_bytes(const ModelConfig& config, const Stage& stage, Numerics numerics, int ranks,
                      const CampaignOptions& campaign, const StepSize& step);

}  // namespace octet
