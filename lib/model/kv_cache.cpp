// The layout of the sequence state: per layer its rings, then its pages, each piece aligned.
#include "model/kv_cache.h"

#include "base/error.h"

namespace octet {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kFloatBytes = 4;

/// A view whose data pointer holds an offset until bind().
std::byte* offset_pointer(int64_t offset) {
  return reinterpret_cast<std::byte*>(offset);
}

void rebase(std::byte*& data, std::byte* memory) {
  data = memory + reinterpret_cast<intptr_t>(data);
}

}  // namespace

std::byte* KvCache::take(int64_t bytes) {
  const int64_t at = bytes_;
  bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset_pointer(at);
}

KvCache::KvCache(const ModelConfig& config, const Stage& stage, KvRowBytes row_bytes, int64_t slots, int64_t pages) {
  const auto ring = [&](int64_t rows, int64_t bytes) { return Ring{take(slots * rows * bytes), rows, bytes}; };
  const auto paged = [&](int64_t ratio, int64_t bytes) {
    const int64_t page_rows = kPageTokens / ratio;
    return PagedRows{take(pages * page_rows * bytes), page_rows, bytes};
  };
  layers_.resize(static_cast<size_t>(config.num_hidden_layers));
  for (int64_t l = stage.first_layer; l < stage.end_layer(); ++l) {
    const int64_t ratio = config.compress_ratios[static_cast<size_t>(l)];
    KvLayer& layer = layers_[static_cast<size_t>(l)];
    layer.window = ring(config.sliding_window + kSpeculatedRows, row_bytes.kv);
    if (ratio != 0) {
      const int64_t groups = ratio == 4 ? 2 : 1;  // ratio 4 pools two overlapping groups of tokens
      const int64_t rows = groups * ratio + kSpeculatedRows;
      layer.raw = ring(rows, 2 * groups * config.head_dim * kFloatBytes);
      layer.compressed = paged(ratio, row_bytes.kv);
      if (ratio == 4) {
        layer.index_raw = ring(rows, 2 * groups * config.index_head_dim * kFloatBytes);
        layer.index = paged(ratio, row_bytes.index);
      }
    }
  }
}

void KvCache::bind(std::byte* memory) {
  for (KvLayer& layer : layers_) {
    for (Ring* ring : {&layer.window, &layer.raw, &layer.index_raw}) rebase(ring->data, memory);
    for (PagedRows* pages : {&layer.compressed, &layer.index}) rebase(pages->data, memory);
  }
}

}  // namespace octet
