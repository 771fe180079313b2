// Binding: every tensor of the table but the draft block's is bound once, to the field of its name, with this rank's
// bytes. The fields are listed here a second time, by the names of the checkpoint.
#include "model/weights.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/synth.h"
#include "model/tensor_specs.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

struct Bytes {
  const void* data;
  int64_t count;
  bool operator==(const Bytes&) const = default;
};

/// The bound views, by tensor name.
class BoundNames {
 public:
  explicit BoundNames(const ModelWeights& w) {
    add("embed.weight", w.embed);
    add("head.weight", w.head);
    add("norm.weight", w.norm);
    add_hc("hc_head", w.hc_head);
    for (size_t l = 0; l < w.layers.size(); ++l) add_layer("layers." + std::to_string(l) + ".", w.layers[l]);
  }
  const std::map<std::string, Bytes>& all() const { return all_; }
  bool twice() const { return twice_; }

 private:
  template <class T, int Rank>
  void add(const std::string& name, const Tensor<T, Rank>& view) {
    const Bytes bytes{view.data, view.size() * static_cast<int64_t>(sizeof(T))};
    twice_ = !all_.emplace(name, bytes).second || twice_;
  }
  template <class Weight>
  void add_scaled(const std::string& name, const Weight& w) {
    add(name + ".weight", w.q);
    add(name + ".scale", w.scale);
  }
  void add_hc(const std::string& name, const ops::HcWeights& w) {
    add(name + "_fn", w.fn);
    add(name + "_scale", w.scale);
    add(name + "_base", w.base);
  }
  void add_compressor(const std::string& name, const CompressorWeights& w) {
    add(name + ".wkv.weight", w.wkv);
    add(name + ".wgate.weight", w.wgate);
    add(name + ".ape", w.ape);
    add(name + ".norm.weight", w.norm);
  }
  void add_attention(const std::string& name, const AttentionWeights& w) {
    add_scaled(name + "wq_a", w.wq_a);
    add_scaled(name + "wq_b", w.wq_b);
    add_scaled(name + "wkv", w.wkv);
    add_scaled(name + "wo_a", w.wo_a);
    add_scaled(name + "wo_b", w.wo_b);
    add(name + "q_norm.weight", w.q_norm);
    add(name + "kv_norm.weight", w.kv_norm);
    add(name + "attn_sink", w.attn_sink);
    if (w.compressor) add_compressor(name + "compressor", *w.compressor);
    if (!w.indexer) return;
    add_scaled(name + "indexer.wq_b", w.indexer->wq_b);
    add(name + "indexer.weights_proj.weight", w.indexer->weights_proj);
    add_compressor(name + "indexer.compressor", w.indexer->compressor);
  }
  void add_moe(const std::string& name, const MoeWeights& w) {
    add(name + "gate.weight", w.gate);
    if (w.tid2eid.data != nullptr) add(name + "gate.tid2eid", w.tid2eid);
    if (w.bias.data != nullptr) add(name + "gate.bias", w.bias);
    for (int64_t e = 0; e < w.w1.dim[0]; ++e) {
      const std::string expert = name + "experts." + std::to_string(e) + ".";
      add_scaled(expert + "w1", w.w1[e]);
      add_scaled(expert + "w2", w.w2[e]);
      add_scaled(expert + "w3", w.w3[e]);
    }
    add_scaled(name + "shared_experts.w1", w.shared_w1);
    add_scaled(name + "shared_experts.w2", w.shared_w2);
    add_scaled(name + "shared_experts.w3", w.shared_w3);
  }
  void add_layer(const std::string& name, const BlockWeights& w) {
    add_hc(name + "hc_attn", w.hc_attn);
    add_hc(name + "hc_ffn", w.hc_ffn);
    add(name + "attn_norm.weight", w.attn_norm);
    add(name + "ffn_norm.weight", w.ffn_norm);
    add_attention(name + "attn.", w.attn);
    add_moe(name + "ffn.", w.moe);
  }

  std::map<std::string, Bytes> all_;
  bool twice_ = false;
};

class Binding : public testing::TestWithParam<int> {};

TEST_P(Binding, GivesEveryTensorOfTheTableButTheDraftBlocksToTheFieldOfItsName) {
  const int ranks = GetParam();
  const test::TempFolder folder;
  write_synthetic_checkpoint(test::data_path("golden/configs/tiny.json"), 7, folder.file("model"));
  const Checkpoint checkpoint = open_checkpoint(folder.file("model"));
  const LocalTensors tensors = load_local(checkpoint, ranks - 1, ranks);
  const ModelWeights weights = bind_weights(checkpoint.config, tensors);
  const BoundNames bound(weights);
  EXPECT_FALSE(bound.twice());
  std::map<std::string, Bytes> expected;
  for (const TensorSpec& spec : tensor_specs(checkpoint.config)) {
    if (spec.draft) continue;
    const LocalTensor& local = tensors.at(spec.name);
    int64_t bytes = dtype_bytes(local.dtype);
    for (const int64_t size : local.shape) bytes *= size;
    expected[spec.name] = {local.data, bytes};
  }
  EXPECT_EQ(bound.all().size(), expected.size());
  for (const auto& [name, bytes] : expected) {
    const auto found = bound.all().find(name);
    ASSERT_NE(found, bound.all().end()) << name << " is not bound";
    EXPECT_EQ(found->second, bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Binding, testing::Values(1, 8));

}  // namespace
}  // namespace octet
