// The filling rules of synth.h and the writer of a whole folder.
#include "model/synth.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "io/safetensors.h"
#include "model/checkpoint.h"

namespace octet {
namespace {

constexpr int64_t kPieceElements = 1 << 20;  // a tensor is made and written in pieces of this many elements

uint64_t splitmix64(uint64_t x) {
  uint64_t z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return hash;
}

/// The random bits of element i of a tensor.
class Bits {
 public:
  Bits(std::string_view name, uint64_t seed) : key_(fnv1a64(name) ^ splitmix64(seed)) {}
  uint64_t operator()(int64_t i) const { return splitmix64(key_ + static_cast<uint64_t>(i)); }
  /// In [-1, 1), a multiple of 2^-23.
  float uniform(int64_t i) const { return static_cast<float>((*this)(i) >> 40) * 0x1p-23f - 1.0f; }

 private:
  uint64_t key_;
};

uint8_t fp8_byte(uint64_t h) {
  const uint64_t sign = h & 1, exponent = ((h >> 1) & 3) + 5, mantissa = (h >> 3) & 7;
  return static_cast<uint8_t>(sign << 7 | exponent << 3 | mantissa);
}

/// Biased exponent that gives a weight of `input_width` columns outputs of about unit size; `rms` is that of its codes.
uint64_t scale_exponent(int64_t input_width, double rms) {
  const double scale = 1 / (rms * std::sqrt(static_cast<double>(input_width)));
  return static_cast<uint64_t>(127 + static_cast<int64_t>(std::floor(std::log2(scale) + 0.5)));
}

int64_t expert_of(const Bits& h, int64_t i, int64_t experts_per_token, int64_t experts) {
  const uint64_t token_bits = h(i / experts_per_token);
  const uint64_t first = token_bits & 0xFFFF, stride = ((token_bits >> 16) & 0xFFFF) | 1;
  return static_cast<int64_t>((first + stride * static_cast<uint64_t>(i % experts_per_token)) %
                              static_cast<uint64_t>(experts));
}

template <class T, class Make>
void fill(std::span<std::byte> bytes, int64_t first, Make make) {
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    const T value = make(first + i);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

void make_empty_folder(const std::string& folder) {
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  const bool is_folder = !status && std::filesystem::is_directory(folder, status);
  if (!is_folder || status) throw Error(Code::kUsage, fmt::format("{}: cannot make the folder", folder));
  if (!std::filesystem::is_empty(folder, status)) {
    throw Error(Code::kUsage, fmt::format("{}: the folder is not empty, and nothing is overwritten", folder));
  }
}

void write_shard(const std::string& path, std::span<const TensorSpec> specs, uint64_t seed, int64_t experts) {
  std::vector<TensorDeclaration> declarations;
  for (const TensorSpec& spec : specs) declarations.push_back({spec.name, spec.dtype, spec.shape});
  SafetensorsWriter writer(path, declarations);
  std::vector<std::byte> piece;
  for (const TensorSpec& spec : specs) {
    const int64_t element_bytes = dtype_bytes(spec.dtype);
    const int64_t count = spec.bytes() / element_bytes;
    for (int64_t first = 0; first < count; first += kPieceElements) {
      piece.resize(static_cast<size_t>(std::min(kPieceElements, count - first) * element_bytes));
      fill_synthetic(piece, spec, seed, first, experts);
      writer.write(std::span<const std::byte>(piece));
    }
  }
  writer.close();
}

void write_index(const std::string& path, const std::vector<TensorSpec>& specs, int shards) {
  int64_t total_size = 0;
  Json weight_map = Json::object();
  for (const TensorSpec& spec : specs) {
    total_size += spec.bytes();
    weight_map.set(spec.name, shard_name(spec.shard, shards));
  }
  Json index = Json::object();
  index.set("metadata", Json::object()).set("total_size", total_size);
  index.set("weight_map", std::move(weight_map));
  std::ofstream out(path, std::ios::binary);
  out << index.dump() << '\n';
  out.close();
  if (!out) throw Error(Code::kEnvironment, fmt::format("{}: cannot write", path));
}

}  // namespace

void fill_synthetic(std::span<std::byte> bytes, const TensorSpec& spec, uint64_t seed, int64_t first, int64_t experts) {
  const Bits h(spec.name, seed);
  const auto scale = static_cast<float>(spec.fill.scale);
  const auto offset = static_cast<float>(spec.fill.offset);
  // Two statements: product and sum are rounded once each.
  const auto uniform = [&](int64_t i) {
    const float product = h.uniform(i) * scale;
    return product + offset;
  };
  const auto scales = [&](double rms) {
    const uint64_t exponent = scale_exponent(spec.fill.input_width, rms);
    fill<uint8_t>(bytes, first, [&](int64_t i) { return static_cast<uint8_t>(exponent + (h(i) & 1)); });
  };
  switch (spec.fill.kind) {
    case FillKind::kUniform:
      if (spec.dtype == DType::kBf16) {
        fill<bf16>(bytes, first, [&](int64_t i) { return bf16(uniform(i)); });
      } else {
        fill<float>(bytes, first, uniform);
      }
      return;
    case FillKind::kFp8: fill<uint8_t>(bytes, first, [&](int64_t i) { return fp8_byte(h(i)); }); return;
    case FillKind::kFp4:
      fill<uint8_t>(bytes, first, [&](int64_t i) { return static_cast<uint8_t>(h(i) & 255); });
      return;
    case FillKind::kFp8Scale: scales(1.4); return;
    case FillKind::kFp4Scale: scales(2.93); return;
    case FillKind::kTokenExperts:
      fill<int64_t>(bytes, first, [&](int64_t i) { return expert_of(h, i, spec.shape[1], experts); });
      return;
  }
}

void write_synthetic_checkpoint(const std::string& config_path, uint64_t seed, const std::string& folder) {
  const ModelConfig config = read_model_config(config_path);
  const int64_t experts = config.n_routed_experts;
  if ((experts & (experts - 1)) != 0) {
    throw Error(Code::kUsage,
                fmt::format("{}: n_routed_experts is {}, expected a power of two: only then are a token's "
                            "synthetic experts distinct",
                            config_path, experts));
  }
  make_empty_folder(folder);
  std::filesystem::copy_file(config_path, folder + "/config.json");
  const std::vector<TensorSpec> specs = tensor_specs(config);
  const int shards = shard_count(config);
  for (auto begin = specs.begin(); begin != specs.end();) {
    const int shard = begin->shard;
    const auto end = std::find_if(begin, specs.end(), [&](const TensorSpec& spec) { return spec.shard != shard; });
    write_shard(folder + "/" + shard_name(shard, shards), std::span(begin, end), seed, experts);
    begin = end;
  }
  write_index(folder + "/" + kIndexName, specs, shards);
}

}  // namespace octet
