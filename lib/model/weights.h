// The model's weights as structs of views, named as in the reference, plus what each layer's arithmetic needs to know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/gemm.h"
#include "kernels/hyper_connection.h"
#include "model/config.h"
#include "model/loader.h"

namespace octet {

struct CompressorWeights {
  Mat<const bf16> wkv, wgate;  ///< [C, D], C = head dim, twice that at ratio 4
  Mat<const float> ape;        ///< [ratio, C]
  Vec<const bf16> norm;        ///< [head dim]
};

struct IndexerWeights {
  ops::Fp8Weight wq_b;           ///< [index heads * index dim, q_lora_rank]
  Mat<const bf16> weights_proj;  ///< [index heads, D]
  CompressorWeights compressor;
};

struct AttentionWeights {
  ops::Fp8Weight wq_a, wq_b, wkv, wo_a, wo_b;
  Vec<const bf16> q_norm, kv_norm;
  Vec<const float> attn_sink;  ///< [local_heads]
  std::optional<CompressorWeights> compressor;
  std::optional<IndexerWeights> indexer;
  int64_t ratio = 0;
  Vec<const float> frequencies;  ///< the layer's rotary table, [rope dim / 2]
};

struct MoeWeights {
  Mat<const bf16> gate;                  ///< [E, D]
  Mat<const int64_t> tid2eid;            ///< [V, K], hash layers only
  Vec<const float> bias;                 ///< [E], the other layers
  Vec<const ops::Fp4Weight> w1, w2, w3;  ///< [E] of [local width, D], [D, local width], [local width, D]
  ops::Fp8Weight shared_w1, shared_w2, shared_w3;
};

struct BlockWeights {
  ops::HcWeights hc_attn, hc_ffn;
  Vec<const bf16> attn_norm, ffn_norm;
  AttentionWeights attn;
  MoeWeights moe;
};

/// Everything bound. The expert lists and rotary tables live here; the tensors live in `tensors`.
struct ModelWeights {
  Mat<const bf16> embed, head;  ///< [V / ranks, D]
  Vec<const bf16> norm;
  ops::HcWeights hc_head;
  std::vector<BlockWeights> layers;
  std::vector<std::vector<ops::Fp4Weight>> expert_lists;
  std::vector<float> plain_frequencies, yarn_frequencies;
};

/// f_i = theta^(-2i / dim) in fp32, i < dim / 2; with yarn also the blend of model.md 3.6 towards f_i / factor.
/// Source: V4 model.py, precompute_freqs_cis.
enum class Yarn { kOff, kOn };
std::vector<float> rope_frequencies(const ModelConfig& config, Yarn yarn);

/// Binds the loaded tensors of a stage by name; `layers` has an entry for every layer of the model, empty for those of
/// other stages. Error{kInternal} for a name the table does not have.
ModelWeights bind_weights(const ModelConfig& config, const Stage& stage, const LocalTensors& tensors);

/// The whole model as one stage.
inline ModelWeights bind_weights(const ModelConfig& config, const LocalTensors& tensors) {
  return bind_weights(config, whole_model(config), tensors);
}

}  // namespace octet
