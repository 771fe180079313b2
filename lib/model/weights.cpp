// Binding by name: every tensor of the table occurs here once (a test compares the two sets).
#include "model/weights.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"

namespace octet {
namespace {

/// Looks tensors up under a prefix and gives them their types.
class Binder {
 public:
  Binder(const LocalTensors& tensors, std::string prefix) : tensors_(tensors), prefix_(std::move(prefix)) {}
  Binder under(std::string_view part) const { return {tensors_, prefix_ + std::string(part) + "."}; }

  template <class T>
  Vec<const T> vec(std::string_view name) const {
    const LocalTensor& t = find(name, 1);
    return {reinterpret_cast<const T*>(t.data), t.shape[0]};
  }
  template <class T>
  Mat<const T> mat(std::string_view name) const {
    const LocalTensor& t = find(name, 2);
    return {reinterpret_cast<const T*>(t.data), t.shape[0], t.shape[1]};
  }
  ops::Fp8Weight fp8(std::string_view name) const {
    const std::string n(name);
    return {mat<fp8_e4m3>(n + ".weight"), mat<fp8_e8m0>(n + ".scale"), find(n + ".weight", 2).first_row};
  }
  ops::Fp4Weight fp4(std::string_view name) const {
    const std::string n(name);
    return {mat<fp4x2>(n + ".weight"), mat<fp8_e8m0>(n + ".scale")};
  }
  ops::HcWeights hc(std::string_view name) const {
    const std::string n(name);
    return {mat<float>(n + "_fn"), vec<float>(n + "_scale"), vec<float>(n + "_base")};
  }

 private:
  const LocalTensor& find(std::string_view name, size_t rank) const {
    const LocalTensor& t = tensors_.at(prefix_ + std::string(name));
    require(t.shape.size() == rank,
            fmt::format("{}{}: {} dimensions, expected {}", prefix_, name, t.shape.size(), rank));
    return t;
  }
  const LocalTensors& tensors_;
  std::string prefix_;
};

CompressorWeights bind_compressor(const Binder& b) {
  return {b.mat<bf16>("wkv.weight"), b.mat<bf16>("wgate.weight"), b.mat<float>("ape"), b.vec<bf16>("norm.weight")};
}

AttentionWeights bind_attention(const Binder& b, int64_t ratio, const ModelWeights& model) {
  AttentionWeights w;
  w.wq_a = b.fp8("wq_a");
  w.wq_b = b.fp8("wq_b");
  w.wkv = b.fp8("wkv");
  w.wo_a = b.fp8("wo_a");
  w.wo_b = b.fp8("wo_b");
  w.q_norm = b.vec<bf16>("q_norm.weight");
  w.kv_norm = b.vec<bf16>("kv_norm.weight");
  w.attn_sink = b.vec<float>("attn_sink");
  w.ratio = ratio;
  const std::vector<float>& f = ratio == 0 ? model.plain_frequencies : model.yarn_frequencies;
  w.frequencies = {f.data(), static_cast<int64_t>(f.size())};
  if (ratio != 0) w.compressor = bind_compressor(b.under("compressor"));
  if (ratio == 4) {
    const Binder i = b.under("indexer");
    w.indexer =
        IndexerWeights{i.fp8("wq_b"), i.mat<bf16>("weights_proj.weight"), bind_compressor(i.under("compressor"))};
  }
  return w;
}

Vec<const ops::Fp4Weight> bind_experts(const Binder& b, std::string_view part, int64_t experts, ModelWeights& model) {
  std::vector<ops::Fp4Weight>& list = model.expert_lists.emplace_back();
  for (int64_t e = 0; e < experts; ++e) list.push_back(b.under(fmt::format("experts.{}", e)).fp4(part));
  return {list.data(), experts};
}

MoeWeights bind_moe(const Binder& b, bool by_token, const ModelConfig& config, ModelWeights& model) {
  MoeWeights w;
  w.gate = b.mat<bf16>("gate.weight");
  if (by_token) {
    w.tid2eid = b.mat<int64_t>("gate.tid2eid");
  } else {
    w.bias = b.vec<float>("gate.bias");
  }
  w.w1 = bind_experts(b, "w1", config.n_routed_experts, model);
  w.w2 = bind_experts(b, "w2", config.n_routed_experts, model);
  w.w3 = bind_experts(b, "w3", config.n_routed_experts, model);
  const Binder shared = b.under("shared_experts");
  w.shared_w1 = shared.fp8("w1");
  w.shared_w2 = shared.fp8("w2");
  w.shared_w3 = shared.fp8("w3");
  return w;
}

}  // namespace

std::vector<float> rope_frequencies(const ModelConfig& config, Yarn yarn) {
  const auto dim = static_cast<float>(config.qk_rope_head_dim);
  const auto theta = static_cast<float>(yarn == Yarn::kOn ? config.compress_rope_theta : config.rope_theta);
  std::vector<float> f;
  for (int64_t i = 0; 2 * i < config.qk_rope_head_dim; ++i) {
    f.push_back(1.0f / std::pow(theta, static_cast<float>(2 * i) / dim));
  }
  if (yarn == Yarn::kOff) return f;
  // The dimension whose wavelength makes `rotations` turns over the original context.
  const auto correction = [&](double rotations) {
    const double context = static_cast<double>(config.yarn_original_max_position);
    return static_cast<double>(config.qk_rope_head_dim) * std::log(context / (rotations * 2 * M_PI)) /
           (2 * std::log(config.compress_rope_theta));
  };
  const double last = static_cast<double>(config.qk_rope_head_dim - 1);
  const auto low = static_cast<float>(std::max(std::floor(correction(config.yarn_beta_fast)), 0.0));
  const auto high = static_cast<float>(std::min(std::ceil(correction(config.yarn_beta_slow)), last));
  const auto factor = static_cast<float>(config.yarn_factor);
  for (size_t i = 0; i < f.size(); ++i) {
    const float ramp = std::min(std::max((static_cast<float>(i) - low) / (high - low), 0.0f), 1.0f);
    const float keep = 1.0f - ramp;
    f[i] = f[i] / factor * (1.0f - keep) + f[i] * keep;
  }
  return f;
}

ModelWeights bind_weights(const ModelConfig& config, const Stage& stage, const LocalTensors& tensors) {
  ModelWeights model;
  model.plain_frequencies = rope_frequencies(config, Yarn::kOff);
  model.yarn_frequencies = rope_frequencies(config, Yarn::kOn);
  model.expert_lists.reserve(static_cast<size_t>(3 * config.num_hidden_layers));  // views point into the lists
  const Binder top(tensors, "");
  if (stage.is_first) model.embed = top.mat<bf16>("embed.weight");
  if (stage.is_last) {
    model.head = top.mat<bf16>("head.weight");
    model.norm = top.vec<bf16>("norm.weight");
    model.hc_head = top.hc("hc_head");
  }
  model.layers.resize(static_cast<size_t>(config.num_hidden_layers));
  for (int64_t l = stage.first_layer; l < stage.end_layer(); ++l) {
    const Binder b = top.under(fmt::format("layers.{}", l));
    BlockWeights& w = model.layers[static_cast<size_t>(l)];
    w.hc_attn = b.hc("hc_attn");
    w.hc_ffn = b.hc("hc_ffn");
    w.attn_norm = b.vec<bf16>("attn_norm.weight");
    w.ffn_norm = b.vec<bf16>("ffn_norm.weight");
    w.attn = bind_attention(b.under("attn"), config.compress_ratios[static_cast<size_t>(l)], model);
    w.moe = bind_moe(b.under("ffn"), l < config.num_hash_layers, config, model);
  }
  return model;
}

}  // namespace octet
