// Model folders of holes for tests of the inventory: real headers, no data, damaged where a test says so.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/safetensors.h"
#include "model/checkpoint.h"
#include "model/synth.h"
#include "tests/support/test_files.h"

namespace octet::test {

/// What a damaged folder says instead of the truth; by default nothing is damaged.
struct Damage {
  std::string rename_from = {}, rename_to = {};  ///< a tensor's name, in index and shard
  std::string drop = {};                         ///< a tensor left out, in index and shard
  std::string retype = {};                       ///< a tensor written as I8 of as many bytes
  std::string reshape = {};                      ///< a tensor written flat
  int64_t total_size_error = 0;
};

/// Writes the folder of `config` with real headers and index, but holes for data: nothing is written, and every byte
/// reads as zero.
inline void write_sparse_checkpoint(const std::string& config_path, const std::string& folder,
                                    const Damage& damage = {}) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/config.json", read_file(config_path));
  const ModelConfig config = read_model_config(config_path);
  const int shards = shard_count(config);
  std::vector<std::vector<TensorDeclaration>> files(static_cast<size_t>(shards));
  Json weight_map = Json::object();
  int64_t total_size = damage.total_size_error;
  for (TensorSpec& spec : tensor_specs(config)) {
    if (spec.name == damage.drop) continue;
    if (spec.name == damage.rename_from) spec.name = damage.rename_to;
    total_size += spec.bytes();
    weight_map.set(spec.name, shard_name(spec.shard, shards));
    if (spec.name == damage.retype) spec = {spec.name, DType::kI8, {spec.bytes()}, {}, 1, 0, 1, {}, spec.shard};
    if (spec.name == damage.reshape) spec.shape = {spec.bytes() / dtype_bytes(spec.dtype)};
    files[static_cast<size_t>(spec.shard - 1)].push_back({spec.name, spec.dtype, spec.shape});
  }
  for (int shard = 1; shard <= shards; ++shard) {
    const auto& tensors = files[static_cast<size_t>(shard - 1)];
    const std::string path = folder + "/" + shard_name(shard, shards);
    const std::string prefix = safetensors_prefix(tensors);
    write_file(path, prefix);
    auto bytes = static_cast<int64_t>(prefix.size());
    for (const TensorDeclaration& tensor : tensors) bytes += tensor_bytes(tensor);
    EXPECT_EQ(::truncate(path.c_str(), bytes), 0) << path;
  }
  Json index = Json::object();
  index.set("metadata", Json::object()).set("total_size", total_size);
  index.set("weight_map", std::move(weight_map));
  write_file(folder + "/" + kIndexName, index.dump());
}

}  // namespace octet::test
