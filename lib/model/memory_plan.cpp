// Sums over the tensor table and the cache's own layout; nothing here knows a tensor or a ring by itself.
#include "model/memory_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "kernels/int8_exchange.h"
#include "kernels/quant.h"
#include "model/batch.h"
#include "model/scratch_plan.h"

namespace octet {
namespace {

constexpr int64_t kTensorAlignment = 64;  // of the loader
constexpr std::array kClasses = {"fp8", "fp4", "scales", "bf16", "fp32", "int64"};

size_t class_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4m3: return 0;
    case DType::kI8: return 1;  // two fp4 values a byte
    case DType::kF8E8m0: return 2;
    case DType::kBf16: return 3;
    case DType::kF32: return 4;
    case DType::kI64:
    case DType::kI32: return 5;
  }
  return 0;
}

int64_t local_bytes(const TensorSpec& spec, int rank, int ranks) {
  int64_t bytes = dtype_bytes(spec.dtype);
  for (const int64_t size : local_shape(spec, local_slice(spec, rank, ranks))) bytes *= size;
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

int64_t sum_of(const std::vector<WeightClass>& classes) {
  int64_t bytes = 0;
  for (const WeightClass& c : classes) bytes += c.bytes();
  return bytes;
}

int64_t pages_of(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

/// The largest n in [0, most] with fits(n); fits must not become true again once it is false.
template <class Fits>
int64_t largest(int64_t most, const Fits& fits) {
  int64_t low = 0, high = most;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

KvRowBytes kv_row_bytes(const ModelConfig& c, Numerics numerics) {
  if (numerics == Numerics::kExact) {
    return {ops::kv_row_bytes<float>(c.head_dim, c.qk_rope_head_dim), ops::index_row_bytes<float>(c.index_head_dim)};
  }
  return {ops::kv_row_bytes<bf16>(c.head_dim, c.qk_rope_head_dim), ops::index_row_bytes<bf16>(c.index_head_dim)};
}

std::vector<WeightClass> weight_classes(const std::vector<TensorSpec>& specs, const Stage& stage, int rank, int ranks) {
  std::vector<WeightClass> classes;
  for (const char* name : kClasses) classes.push_back({.name = name});
  for (const TensorSpec& spec : specs) {
    if (spec.draft || !stage.holds(spec.name)) continue;
    WeightClass& c = classes[class_of(spec.dtype)];
    (spec.split == Split::kReplicate ? c.replicated_bytes : c.split_bytes) += local_bytes(spec, rank, ranks);
  }
  return classes;
}

int64_t largest_step(int64_t prefill_chunk, int64_t batch, int64_t context) {
  return std::min(prefill_chunk + batch - 1, batch * context);
}

StateBytes state_bytes(const ModelConfig& config, const Stage& stage, Numerics numerics) {
  const KvCache one(config, stage, kv_row_bytes(config, numerics), 1, 1);
  StateBytes state;
  for (int64_t l = 0; l < config.num_hidden_layers; ++l) {
    const KvLayer& layer = one.layer(l);
    state.window += layer.window.rows * layer.window.row_bytes;
    state.raw += layer.raw.rows * layer.raw.row_bytes;
    state.index_raw += layer.index_raw.rows * layer.index_raw.row_bytes;
    state.compressed += layer.compressed.page_rows * layer.compressed.row_bytes;
    state.index += layer.index.page_rows * layer.index.row_bytes;
  }
  return state;
}

MemoryPlanner::MemoryPlanner(ModelConfig config, int ranks, Numerics numerics, const CampaignOptions& campaign,
                             int stages)
    : config_(std::move(config)), ranks_(ranks), numerics_(numerics), campaign_(campaign), stages_(stages) {
  check_stages(config_, ranks, stages);
  const std::vector<TensorSpec> specs = tensor_specs(config_);
  const int per_stage = ranks / stages;
  for (int rank = 0; rank < ranks; ++rank) {
    const Stage stage = stage_of(config_, stages, rank / per_stage);
    std::vector<WeightClass> classes = weight_classes(specs, stage, rank % per_stage, per_stage);
    weight_bytes_.push_back(sum_of(classes));
    if (weight_bytes_.back() <= sum_of(largest_)) continue;
    largest_ = std::move(classes);
    largest_stage_ = stage;
  }
}

MemoryPlan MemoryPlanner::plan(int64_t batch, int64_t context, int64_t prefill_chunk, int64_t pages) const {
  MemoryPlan plan;
  if (pages == 0) pages = batch * pages_of(context);
  plan.setup = {ranks_, stages_, numerics_, batch, context, pages, prefill_chunk};
  plan.weights = largest_;
  plan.state = state_bytes(config_, largest_stage_, numerics_);
  plan.weight_bytes = sum_of(largest_);
  plan.cache_bytes = KvCache(config_, largest_stage_, kv_row_bytes(config_, numerics_), batch, pages).bytes();
  const int64_t tokens = largest_step(prefill_chunk, batch, context);
  plan.scratch_bytes = batch == 0 ? 0
                                  : octet::scratch_bytes(config_, largest_stage_, numerics_, ranks_ / stages_,
                                                         campaign_, {tokens, batch, batch, context});
  if (batch > 0 && campaign_.ar_int8 && ranks_ / stages_ > 1) {
    plan.exchange_bytes =
        int8::ExchangeLayout(std::max(tokens, kProbeTokens) * config_.hidden_size / int8::kBlock, ranks_ / stages_)
            .bytes;
  }
  plan.logits_bytes = batch * config_.vocab_size * static_cast<int64_t>(sizeof(float));
  return plan;
}

int64_t MemoryPlanner::largest_batch(int64_t context, int64_t prefill_chunk, int64_t card_bytes, int64_t most) const {
  return largest(most, [&](int64_t batch) { return plan(batch, context, prefill_chunk).total_bytes() <= card_bytes; });
}

int64_t MemoryPlanner::largest_context(int64_t batch, int64_t prefill_chunk, int64_t card_bytes) const {
  const int64_t limit = config_.max_position_embeddings;
  const int64_t pages = largest(pages_of(limit), [&](int64_t n) {
    const int64_t context = std::min(n * kPageTokens, limit);
    return n == 0 || plan(batch, context, prefill_chunk).total_bytes() <= card_bytes;
  });
  return std::min(pages * kPageTokens, limit);
}

}  // namespace octet
