// The inventory: the table (what must be there) against the index (what is said to be there) against the shard headers
// (what is there). All three must agree.
#include "model/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "io/safetensors.h"

namespace octet {
namespace {

/// model.safetensors.index.json: which shard holds which tensor.
struct Index {
  std::string path;
  std::unordered_map<std::string, std::string> shard_of;
  std::vector<std::string> shards;  ///< each once, sorted
  int64_t total_size = 0;
};

[[noreturn]] void fail(std::string_view where, std::string_view problem) {
  throw Error(Code::kCheckpoint, fmt::format("{}: {}", where, problem));
}

std::string and_more(size_t count) {
  return count > 1 ? fmt::format(" (and {} more)", count - 1) : "";
}

Json read_json(const std::string& path) {
  const MappedFile file(path, Code::kCheckpoint);
  try {
    return parse_json({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
  } catch (const Error& error) {
    throw Error(Code::kCheckpoint, error.what(), error.where());
  }
}

Index read_index(const std::string& folder) {
  Index index;
  index.path = folder + "/" + kIndexName;
  if (!std::filesystem::exists(index.path)) {
    fail(index.path, "the index is missing; a model folder holds it beside its shards");
  }
  const Json root = read_json(index.path);
  const Json* metadata = root.find("metadata");
  const Json* total = metadata == nullptr ? nullptr : metadata->find("total_size");
  const std::optional<int64_t> total_size = total == nullptr ? std::nullopt : total->as_int();
  if (!total_size) fail(index.path, "metadata.total_size is missing or not an integer");
  index.total_size = *total_size;
  const Json* weight_map = root.find("weight_map");
  if (weight_map == nullptr || !weight_map->is(Json::Kind::kObject)) fail(index.path, "weight_map is missing");
  index.shard_of.reserve(weight_map->members.size());
  for (const auto& [name, shard] : weight_map->members) {
    // A shard is a file of this folder: the index must not lead anywhere else.
    if (!shard.is(Json::Kind::kString) || shard.text.empty() || shard.text.find('/') != shard.text.npos) {
      fail(index.path, fmt::format("tensor {}: its shard is {}, expected a file name", name, shard.dump()));
    }
    index.shard_of.emplace(name, shard.text);
    index.shards.push_back(shard.text);
  }
  std::sort(index.shards.begin(), index.shards.end());
  index.shards.erase(std::unique(index.shards.begin(), index.shards.end()), index.shards.end());
  return index;
}

/// The index names what the table asks for and nothing else.
void check_names(const Index& index, const std::vector<TensorSpec>& specs) {
  std::vector<std::string_view> missing;
  std::unordered_map<std::string_view, const TensorSpec*> expected;
  expected.reserve(specs.size());
  for (const TensorSpec& spec : specs) {
    expected.emplace(spec.name, &spec);
    if (!index.shard_of.contains(spec.name)) missing.push_back(spec.name);
  }
  std::vector<std::string_view> unknown;
  for (const auto& [name, shard] : index.shard_of) {
    if (!expected.contains(name)) unknown.push_back(name);
  }
  if (!unknown.empty()) {
    const std::string first(*std::min_element(unknown.begin(), unknown.end()));
    fail(index.path, fmt::format("unknown tensor {}{} in {}: config.json asks for no such tensor", first,
                                 and_more(unknown.size()), index.shard_of.at(first)));
  }
  if (!missing.empty()) {
    const TensorSpec& spec = *expected.at(missing.front());
    fail(index.path, fmt::format("tensor {}{} is missing, expected {}", spec.name, and_more(missing.size()),
                                 describe_tensor(spec.dtype, spec.shape)));
  }
}

/// Where the shards hold each tensor of the index.
struct Found {
  int file;
  SafetensorsEntry entry;
};

std::unordered_map<std::string, Found> read_shards(const std::string& folder, const Index& index) {
  std::unordered_map<std::string, Found> found;
  found.reserve(index.shard_of.size());
  for (size_t i = 0; i < index.shards.size(); ++i) {
    const std::string& shard = index.shards[i];
    const std::string path = folder + "/" + shard;
    if (!std::filesystem::exists(path)) fail(path, fmt::format("the shard is missing; {} names it", kIndexName));
    SafetensorsHeader header = read_safetensors_header(path);
    for (SafetensorsEntry& entry : header.entries) {
      const std::string name = entry.tensor.name;
      const auto named = index.shard_of.find(name);
      if (named == index.shard_of.end()) fail(path, fmt::format("unknown tensor {}: the index does not name it", name));
      const auto [at, is_new] = found.try_emplace(name, Found{static_cast<int>(i), std::move(entry)});
      if (!is_new) {
        fail(path, fmt::format("tensor {} is in two shards, the other is {}", name,
                               index.shards[static_cast<size_t>(at->second.file)]));
      }
    }
  }
  return found;
}

CheckpointTensor match(const TensorSpec& spec, const std::unordered_map<std::string, Found>& found, const Index& index,
                       const std::string& folder) {
  const std::string& named = index.shard_of.at(spec.name);
  const auto at = found.find(spec.name);
  if (at == found.end()) {
    fail(folder + "/" + named, fmt::format("tensor {} is missing, though the index says that it is here", spec.name));
  }
  const Found& here = at->second;
  const std::string& shard = index.shards[static_cast<size_t>(here.file)];
  if (shard != named) {
    fail(folder + "/" + shard, fmt::format("tensor {} is here, but the index says {}", spec.name, named));
  }
  const TensorDeclaration& tensor = here.entry.tensor;
  if (tensor.dtype != spec.dtype || tensor.shape != spec.shape) {
    fail(folder + "/" + shard,
         fmt::format("tensor {} is {}, expected {}", spec.name, describe_tensor(tensor.dtype, tensor.shape),
                     describe_tensor(spec.dtype, spec.shape)));
  }
  return {spec, here.file, here.entry.offset};
}

}  // namespace

Checkpoint open_checkpoint(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) fail(folder, "there is no such model folder");
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  checkpoint.config = read_model_config(folder + "/config.json");
  const std::vector<TensorSpec> specs = tensor_specs(checkpoint.config);
  const Index index = read_index(folder);
  check_names(index, specs);
  const std::unordered_map<std::string, Found> found = read_shards(folder, index);
  checkpoint.files = index.shards;
  checkpoint.tensors.reserve(specs.size());
  for (const TensorSpec& spec : specs) {
    checkpoint.tensors.push_back(match(spec, found, index, folder));
    checkpoint.tensor_bytes += spec.bytes();
  }
  if (checkpoint.tensor_bytes != index.total_size) {
    fail(index.path, fmt::format("metadata.total_size is {}, but the tensors take {} bytes", index.total_size,
                                 checkpoint.tensor_bytes));
  }
  return checkpoint;
}

}  // namespace octet
