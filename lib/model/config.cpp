// Reads config.json field by field. A value this program does not implement is refused here, with its name, rather than
// computed wrongly later.
#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace octet {
namespace {

constexpr int64_t kFp8Block = 128;  // rows and columns that share a scale of an fp8 weight
constexpr int64_t kFp4Block = 32;   // columns that share a scale of an fp4 weight
constexpr int64_t kKvBlock = 64;    // columns that share a scale in a KV row

/// Fields of one JSON object, each fetched with the type expected of it.
class Fields {
 public:
  Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

  int64_t integer(std::string_view name, int64_t least, int64_t most = INT32_MAX) const {
    const Json& value = need(name);
    const std::optional<int64_t> number = value.as_int();
    if (!number || *number < least || *number > most) {
      fail(name, value.dump(), fmt::format("an integer from {} to {}", least, most));
    }
    return *number;
  }
  double positive(std::string_view name) const {
    const Json& value = need(name);
    const std::optional<double> number = value.as_double();
    if (!number || !(*number > 0)) fail(name, value.dump(), "a positive number");
    return *number;
  }
  std::vector<int64_t> integers(std::string_view name) const {
    const Json& value = need(name);
    if (!value.is(Json::Kind::kArray)) fail(name, value.dump(), "an array of integers");
    std::vector<int64_t> numbers;
    for (const Json& item : value.items) {
      const std::optional<int64_t> number = item.as_int();
      if (!number) fail(name, value.dump(), "an array of integers");
      numbers.push_back(*number);
    }
    return numbers;
  }
  Fields object(std::string_view name) const {
    const Json& value = need(name);
    if (!value.is(Json::Kind::kObject)) fail(name, value.dump(), "an object");
    return Fields(value, fmt::format("{}: {}", path_, name));
  }
  bool has(std::string_view name) const { return object_.find(name) != nullptr; }

  /// A field that this program implements in one way only.
  void must_be(std::string_view name, const Json& only) const { check_only(name, need(name), only); }
  /// The same where an absent field means that value.
  void may_only_be(std::string_view name, const Json& only) const {
    if (const Json* value = object_.find(name)) check_only(name, *value, only);
  }

  [[noreturn]] void fail(std::string_view name, std::string_view found, std::string_view expected) const {
    throw Error(Code::kCheckpoint, fmt::format("{}: {} is {}, expected {}", path_, name, found, expected));
  }

 private:
  const Json& need(std::string_view name) const {
    const Json* value = object_.find(name);
    if (value == nullptr) throw Error(Code::kCheckpoint, fmt::format("{}: {} is missing", path_, name));
    return *value;
  }
  void check_only(std::string_view name, const Json& value, const Json& only) const {
    const bool same = value.is(Json::Kind::kNumber) && only.is(Json::Kind::kNumber)
                          ? value.as_double() == only.as_double()
                          : value.dump() == only.dump();
    if (!same) fail(name, value.dump(), fmt::format("{} (nothing else is implemented)", only.dump()));
  }

  const Json& object_;
  std::string path_;
};

/// Fields that change what is computed and of which one value is implemented.
void check_implemented(const Fields& f) {
  f.must_be("model_type", "deepseek_v4");
  f.must_be("hidden_act", "silu");
  f.must_be("scoring_func", "sqrtsoftplus");
  f.must_be("topk_method", "noaux_tc");
  f.must_be("norm_topk_prob", true);
  f.must_be("num_key_value_heads", 1);
  f.must_be("n_shared_experts", 1);
  f.may_only_be("expert_dtype", "fp4");
  f.may_only_be("attention_bias", false);
  f.may_only_be("tie_word_embeddings", false);
  const Fields quantization = f.object("quantization_config");
  quantization.must_be("quant_method", "fp8");
  quantization.must_be("fmt", "e4m3");
  quantization.must_be("scale_fmt", "ue8m0");
  quantization.must_be("activation_scheme", "dynamic");
  quantization.must_be("weight_block_size", Json::array({kFp8Block, kFp8Block}));
}

void read_sizes(ModelConfig& c, const Fields& f) {
  c.vocab_size = f.integer("vocab_size", 1);
  c.hidden_size = f.integer("hidden_size", 1);
  c.num_hidden_layers = f.integer("num_hidden_layers", 1);
  c.num_hash_layers = f.integer("num_hash_layers", 0, c.num_hidden_layers);
  c.num_attention_heads = f.integer("num_attention_heads", 1);
  c.head_dim = f.integer("head_dim", 1);
  c.qk_rope_head_dim = f.integer("qk_rope_head_dim", 2, c.head_dim);
  c.q_lora_rank = f.integer("q_lora_rank", 1);
  c.o_groups = f.integer("o_groups", 1);
  c.o_lora_rank = f.integer("o_lora_rank", 1);
  c.n_routed_experts = f.integer("n_routed_experts", 1);
  c.num_experts_per_tok = f.integer("num_experts_per_tok", 1, c.n_routed_experts);
  c.n_shared_experts = f.integer("n_shared_experts", 1);
  c.moe_intermediate_size = f.integer("moe_intermediate_size", 1);
  c.index_head_dim = f.integer("index_head_dim", 1);
  c.index_n_heads = f.integer("index_n_heads", 1);
  c.index_topk = f.integer("index_topk", 1);
  c.sliding_window = f.integer("sliding_window", 1);
  c.hc_mult = f.integer("hc_mult", 1, 16);
  c.hc_sinkhorn_iters = f.integer("hc_sinkhorn_iters", 1);
  c.max_position_embeddings = f.integer("max_position_embeddings", 1);
  c.num_nextn_predict_layers = f.integer("num_nextn_predict_layers", 0);
  c.bos_token_id = f.integer("bos_token_id", 0, c.vocab_size - 1);
  c.eos_token_id = f.integer("eos_token_id", 0, c.vocab_size - 1);
}

void read_scalars(ModelConfig& c, const Fields& f) {
  c.rms_norm_eps = f.positive("rms_norm_eps");
  c.hc_eps = f.positive("hc_eps");
  c.routed_scaling_factor = f.positive("routed_scaling_factor");
  c.swiglu_limit = f.positive("swiglu_limit");
  c.rope_theta = f.positive("rope_theta");
  c.compress_rope_theta = f.positive("compress_rope_theta");
  const Fields yarn = f.object("rope_scaling");
  yarn.must_be("type", "yarn");
  yarn.may_only_be("mscale", 1);
  yarn.may_only_be("attention_factor", 1);
  c.yarn_factor = yarn.positive("factor");
  c.yarn_beta_fast = yarn.positive("beta_fast");
  c.yarn_beta_slow = yarn.positive("beta_slow");
  c.yarn_original_max_position = yarn.integer("original_max_position_embeddings", 1);
}

void read_dspark(ModelConfig& c, const Fields& f) {
  constexpr std::array kNames = {"dspark_block_size", "dspark_noise_token_id", "dspark_markov_rank",
                                 "dspark_target_layer_ids"};
  if (std::none_of(kNames.begin(), kNames.end(), [&](const char* name) { return f.has(name); })) return;
  c.dspark_block_size = f.integer("dspark_block_size", 1);
  c.dspark_noise_token_id = f.integer("dspark_noise_token_id", 0, c.vocab_size - 1);
  c.dspark_markov_rank = f.integer("dspark_markov_rank", 1);
  c.dspark_target_layer_ids = f.integers("dspark_target_layer_ids");
  const auto outside = [&](int64_t layer) { return layer < 0 || layer >= c.num_hidden_layers; };
  if (c.dspark_target_layer_ids.empty() ||
      std::any_of(c.dspark_target_layer_ids.begin(), c.dspark_target_layer_ids.end(), outside)) {
    f.fail("dspark_target_layer_ids", fmt::format("[{}]", fmt::join(c.dspark_target_layer_ids, ", ")),
           fmt::format("layers from 0 to {}", c.num_hidden_layers - 1));
  }
}

void read_ratios(ModelConfig& c, const Fields& f) {
  c.compress_ratios = f.integers("compress_ratios");
  const auto entries = static_cast<int64_t>(c.compress_ratios.size());
  const auto found = [&] { return fmt::format("an array of {} entries", entries); };
  if (c.has_dspark() && entries <= c.num_hidden_layers) {
    f.fail("compress_ratios", found(),
           fmt::format("more than {}: one per layer, then one per DSpark stage", c.num_hidden_layers));
  }
  const int64_t expected = c.num_hidden_layers + c.num_nextn_predict_layers;
  if (!c.has_dspark() && entries != expected) {
    f.fail("compress_ratios", found(),
           fmt::format("{}: {} layers and {} MTP blocks", expected, c.num_hidden_layers, c.num_nextn_predict_layers));
  }
  for (int64_t i = 0; i < entries; ++i) {
    const int64_t ratio = c.compress_ratios[static_cast<size_t>(i)];
    const bool known = ratio == 0 || (i < c.num_hidden_layers && (ratio == 4 || ratio == 128));
    if (known) continue;
    f.fail(fmt::format("compress_ratios[{}]", i), std::to_string(ratio),
           i < c.num_hidden_layers ? "0, 4 or 128" : "0 (an MTP or DSpark block)");
  }
}

/// Shapes that the quantisation formats and the kernels rely on.
void check_shapes(const ModelConfig& c, const Fields& f) {
  const auto multiple = [&](std::string_view name, int64_t value, int64_t of) {
    if (value % of != 0) f.fail(name, std::to_string(value), fmt::format("a multiple of {}", of));
  };
  multiple("hidden_size", c.hidden_size, kFp8Block);
  multiple("q_lora_rank", c.q_lora_rank, kFp8Block);
  multiple("moe_intermediate_size", c.moe_intermediate_size, kFp8Block);
  multiple("head_dim", c.head_dim, kFp8Block);
  multiple("num_attention_heads", c.num_attention_heads, c.o_groups);
  multiple("o_groups * o_lora_rank", c.o_groups * c.o_lora_rank, kFp8Block);
  multiple("index_n_heads * index_head_dim", c.index_n_heads * c.index_head_dim, kFp8Block);
  multiple("index_head_dim", c.index_head_dim, kFp4Block);
  multiple("qk_rope_head_dim", c.qk_rope_head_dim, 2);
  multiple("head_dim - qk_rope_head_dim", c.head_dim - c.qk_rope_head_dim, kKvBlock);
  if ((c.index_head_dim & (c.index_head_dim - 1)) != 0) {
    f.fail("index_head_dim", std::to_string(c.index_head_dim), "a power of two (Hadamard transform)");
  }
  if (c.qk_rope_head_dim > c.index_head_dim) {
    f.fail("index_head_dim", std::to_string(c.index_head_dim), "at least qk_rope_head_dim");
  }
}

}  // namespace

ModelConfig parse_model_config(std::string_view json, const std::string& path) {
  Json root;
  try {
    root = parse_json(json, path);
  } catch (const Error& error) {
    throw Error(Code::kCheckpoint, error.what(), error.where());
  }
  if (!root.is(Json::Kind::kObject)) throw Error(Code::kCheckpoint, fmt::format("{}: not a JSON object", path));
  const Fields fields(root, path);
  ModelConfig config;
  check_implemented(fields);
  read_sizes(config, fields);
  read_scalars(config, fields);
  read_dspark(config, fields);
  read_ratios(config, fields);
  check_shapes(config, fields);
  return config;
}

ModelConfig read_model_config(const std::string& path) {
  const MappedFile file(path, Code::kCheckpoint);
  const auto bytes = file.bytes();
  return parse_model_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

void check_ranks(const ModelConfig& c, int ranks) {
  if (ranks != 1 && ranks != 2 && ranks != 4 && ranks != 8) {
    throw Error(Code::kUsage, fmt::format("{} ranks: the number of ranks must be 1, 2, 4 or 8", ranks));
  }
  const auto divides = [&](std::string_view name, int64_t value, int64_t unit) {
    if (value % (unit * ranks) == 0) return;
    const std::string in_units = unit == 1 ? "" : fmt::format(" in multiples of {}", unit);
    throw Error(Code::kUsage,
                fmt::format("{} ranks: {} is {}, which does not divide by {}{}", ranks, name, value, ranks, in_units));
  };
  divides("num_attention_heads", c.num_attention_heads, 1);
  divides("o_groups", c.o_groups, 1);
  divides("vocab_size", c.vocab_size, 1);
  divides("moe_intermediate_size", c.moe_intermediate_size, kFp8Block);
  divides("o_groups * o_lora_rank", c.o_groups * c.o_lora_rank, kFp8Block);
}

}  // namespace octet
