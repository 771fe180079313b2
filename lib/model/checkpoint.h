// A model folder, opened: its config and a closed-world inventory of its tensors. Only headers are read here; the
// loader (loader.h) reads the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/tensor_specs.h"

namespace octet {

/// An expected tensor and where it was found.
struct CheckpointTensor {
  TensorSpec spec;
  int file = 0;        ///< index into Checkpoint::files
  int64_t offset = 0;  ///< of its first byte in that file
};

struct Checkpoint {
  std::string folder;
  ModelConfig config;
  std::vector<std::string> files;         ///< shard names, in order
  std::vector<CheckpointTensor> tensors;  ///< in the order of tensor_specs(config)
  int64_t tensor_bytes = 0;

  std::string path(int file) const { return folder + "/" + files[static_cast<size_t>(file)]; }
};

/// Opens `folder`: config.json, model.safetensors.index.json and the header of every shard.
/// On return every tensor the config asks for is there exactly once, with the right dtype and shape, in the shard that
/// the index names, and nothing else is there. Errors: Error{kCheckpoint} that names the tensor or file, the expected
/// and the found: no index, missing or truncated shard, missing, unknown, misplaced or doubled tensor, other dtype or
/// shape, metadata.total_size that is not the sum.
Checkpoint open_checkpoint(const std::string& folder);

/// Name of the index file in a model folder.
inline constexpr const char* kIndexName = "model.safetensors.index.json";

}  // namespace octet
