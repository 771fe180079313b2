// What a sequence leaves behind between steps, addressed by absolute position: nothing here shifts, so forgetting
// tokens is lowering a count (lib/design/0003-sequence-state.md).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/segments.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/stage.h"

namespace octet {

/// Positions a step may add beyond the one it commits without losing rows a later step can need (speculation).
inline constexpr int64_t kSpeculatedRows = 5;

/// One layer's state; the views of rows that the layer does not have are empty (rows == 0, page_rows == 0).
struct KvLayer {
  Ring window;           ///< KV rows of the sliding window
  Ring raw;              ///< compressor input rows [value | score], fp32
  PagedRows compressed;  ///< compressed KV rows
  Ring index_raw;        ///< the indexer's compressor input rows
  PagedRows index;       ///< indexer keys
};

/// Bytes of a packed KV row and of a packed indexer key; they depend on the numerics.
struct KvRowBytes {
  int64_t kv;
  int64_t index;
};

/// Sizes and views of the state of a stage's layers for `slots` sequences and `pages` pages; other layers have none.
/// Owns no memory: bind() puts the views on an allocation of bytes() bytes, host or device.
class KvCache {
 public:
  KvCache(const ModelConfig& config, const Stage& stage, KvRowBytes row_bytes, int64_t slots, int64_t pages);
  KvCache(const ModelConfig& config, KvRowBytes row_bytes, int64_t slots, int64_t pages)
      : KvCache(config, whole_model(config), row_bytes, slots, pages) {}
  int64_t bytes() const { return bytes_; }
  void bind(std::byte* memory);
  const KvLayer& layer(int64_t l) const { return layers_[static_cast<size_t>(l)]; }

 private:
  std::byte* take(int64_t bytes);
  std::vector<KvLayer> layers_;
  int64_t bytes_ = 0;
};

}  // namespace octet
