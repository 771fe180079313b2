// config.json of a DeepSeek-V4 checkpoint as one checked struct.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Hyper-parameters; names as in the official config.json.
struct ModelConfig {
  int64_t vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, num_hash_layers = 0;
  int64_t num_attention_heads = 0, head_dim = 0, qk_rope_head_dim = 0, q_lora_rank = 0, o_groups = 0, o_lora_rank = 0;
  int64_t n_routed_experts = 0, num_experts_per_tok = 0, n_shared_experts = 0, moe_intermediate_size = 0;
  int64_t index_head_dim = 0, index_n_heads = 0, index_topk = 0, sliding_window = 0;
  int64_t hc_mult = 0, hc_sinkhorn_iters = 0, max_position_embeddings = 0, num_nextn_predict_layers = 0;
  int64_t bos_token_id = 0, eos_token_id = 0;
  std::vector<int64_t> compress_ratios;  ///< num_hidden_layers entries, then one per MTP / DSpark block
  double rms_norm_eps = 0, hc_eps = 0, routed_scaling_factor = 0, swiglu_limit = 0;
  double rope_theta = 0, compress_rope_theta = 0;
  double yarn_factor = 0, yarn_beta_fast = 0, yarn_beta_slow = 0;
  int64_t yarn_original_max_position = 0;
  // 0731 only; zero and empty otherwise.
  int64_t dspark_block_size = 0, dspark_noise_token_id = 0, dspark_markov_rank = 0;
  std::vector<int64_t> dspark_target_layer_ids;

  bool has_dspark() const { return dspark_block_size > 0; }
  /// Blocks under mtp.*: compress_ratios beyond the layers (num_nextn_predict_layers of them, or the DSpark stages).
  int64_t mtp_blocks() const { return static_cast<int64_t>(compress_ratios.size()) - num_hidden_layers; }
  int64_t hc_mixes() const { return hc_mult * (2 + hc_mult); }
};

/// Reads and checks a config.json. Error{kCheckpoint} names the file, the field, expected and found: a missing or
/// mistyped field, another model_type, and every value this program does not implement (scoring_func, topk_method,
/// quantization_config, rope_scaling type, hidden_act, expert_dtype, ratios other than 0, 4, 128, ...).
ModelConfig read_model_config(const std::string& path);

/// The same from text; `path` names it in messages.
ModelConfig parse_model_config(std::string_view json, const std::string& path);

/// Checks that `ranks` is 1, 2, 4 or 8 and that everything plan tensor splits divides by it.
/// Errors: Error{kUsage} that names the rank count, or the field and its value.
void check_ranks(const ModelConfig& config, int ranks);

}  // namespace octet
