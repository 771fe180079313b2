// The one table of the checkpoint: every tensor's name, stored form, shape, how plan tensor splits it and how a
// synthetic one is filled. Inventory, loader, inspect and synth all walk the list made here; nothing else knows a
// tensor's split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "model/config.h"

namespace octet {

/// What rank r of R holds: everything, or its R-th part of the rows (dimension 0) or columns (dimension 1).
enum class Split { kReplicate, kRows, kColumns };

constexpr std::string_view split_name(Split split) {
  switch (split) {
    case Split::kReplicate: return "replicate";
    case Split::kRows: return "rows";
    case Split::kColumns: return "columns";
  }
  return "?";
}

/// How synth fills a tensor (tests/data/golden/README.md has the formulas).
enum class FillKind {
  kUniform,       ///< u * scale + offset, F32 or BF16
  kFp8,           ///< e4m3 bytes of moderate exponent
  kFp8Scale,      ///< one e8m0 per block of 128 x 128, from the weight's input width
  kFp4,           ///< any byte
  kFp4Scale,      ///< one e8m0 per 32 columns of a row, from the weight's input width
  kTokenExperts,  ///< distinct expert ids per token
};

struct Fill {
  FillKind kind = FillKind::kUniform;
  double scale = 0;         ///< kUniform
  double offset = 0;        ///< kUniform
  int64_t input_width = 0;  ///< scales: logical columns of the weight
};

/// One expected tensor. Sizes are global (of the whole model).
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  ///< as stored
  Split split = Split::kReplicate;
  /// In the split dimension: logical rows or columns per stored one (1; 2 for fp4 bytes; 128 or 32 for scales), the
  /// logical size, and the quantisation block that a column cut must not divide.
  int64_t step = 1, extent = 0, block = 1;
  Fill fill;
  int shard = 1;       ///< file of the official layout, from 1
  bool draft = false;  ///< belongs to an mtp.* block: checked, but not kept in memory

  int64_t bytes() const;
};

/// The part of a tensor that a rank holds: stored indices [begin, end) of dimension `dim`.
struct Slice {
  int dim = 0;
  int64_t begin = 0, end = 0;
  /// fp8 weights and scales split by rows: the rank's first logical row modulo 128. When it is not 0, the rank's first
  /// scale row is also held by the rank before it.
  int64_t first_row = 0;
};

/// Every tensor of a checkpoint with this config, in file order: embed; each layer; final norm, head and hc_head; each
/// mtp block. Full size: 69,187 tensors, 0731: 72,317.   Source: model.md 2.3-2.5, the official index.
std::vector<TensorSpec> tensor_specs(const ModelConfig& config);

/// Number of files of the official layout: layers + 2 + mtp blocks.
int shard_count(const ModelConfig& config);

/// "model-00003-of-00046.safetensors".
std::string shard_name(int shard, int shards);

/// Which part rank `rank` of `ranks` holds. Errors: Error{kUsage} when the split dimension does not divide by ranks, or
/// when a column cut falls inside a quantisation block.
Slice local_slice(const TensorSpec& spec, int rank, int ranks);

/// spec.shape with the split dimension cut to the slice.
std::vector<int64_t> local_shape(const TensorSpec& spec, const Slice& slice);

}  // namespace octet
