// Which part of a model a pipeline stage holds: contiguous layers, the embedding in the first stage, the head in the
// last.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/config.h"

namespace octet {

struct Stage {
  int64_t first_layer = 0, layers = 0;
  bool is_first = true;  ///< embeds
  bool is_last = true;   ///< has the head

  int64_t end_layer() const { return first_layer + layers; }
  bool has_layer(int64_t l) const { return l >= first_layer && l < end_layer(); }
  /// Whether the tensor called `name` belongs to it; mtp.* goes with the head.
  bool holds(std::string_view name) const;
};

/// The whole model as one stage.
Stage whole_model(const ModelConfig& config);

/// Stage `stage` of `stages`: layers shared out evenly, the larger parts first (there the embedding is cheaper than the
/// head).
Stage stage_of(const ModelConfig& config, int stages, int stage);

/// Checks that `ranks` divide by `stages`, that each stage has a layer, and check_ranks for the ranks of one stage.
/// Errors: Error{kUsage} that names the numbers.
void check_stages(const ModelConfig& config, int ranks, int stages);

}  // namespace octet
