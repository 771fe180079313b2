// Synthetic checkpoints: weights that follow from (seed, tensor name, element index) alone, so that any program can
// write the same bytes. The rule is in tests/data/golden/README.md; recorded checksums pin it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "model/tensor_specs.h"

namespace octet {

/// Writes a model folder for the config file: config.json (a copy), the shards of the official layout and the index.
/// Streams tensor by tensor, so the size is bounded by the disk. The index comes last: a folder without it is
/// unfinished. Errors: Error{kUsage} when `folder` exists and is not empty or cannot be made, or n_routed_experts is no
/// power of two; Error{kCheckpoint} for a bad config; Error{kEnvironment} for a failed write.
void write_synthetic_checkpoint(const std::string& config_path, uint64_t seed, const std::string& folder);

/// Bytes of elements [first, first + count) of a tensor, count = bytes.size() / element size.
/// `experts` is n_routed_experts, used by tid2eid.
void fill_synthetic(std::span<std::byte> bytes, const TensorSpec& spec, uint64_t seed, int64_t first, int64_t experts);

}  // namespace octet
