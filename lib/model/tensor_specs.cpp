// The table (kTable) and its expansion to concrete tensors.
#include "model/tensor_specs.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace octet {
namespace {

constexpr int64_t kFp8Block = 128;  // an e8m0 scale covers 128 x 128 values of an fp8 weight
constexpr int64_t kFp4Block = 32;   // and 32 columns of one row of an fp4 weight
constexpr int64_t kFp4PerByte = 2;

/// Where a row of the table occurs.
enum class Where {
  kEmbed,        ///< once, first file
  kBlock,        ///< every layer and every mtp block
  kCsa,          ///< layers of ratio 4
  kHca,          ///< layers of ratio 128
  kHashRouted,   ///< the first num_hash_layers layers
  kScoreRouted,  ///< the other layers and every mtp block
  kTail,         ///< once, the file after the layers
  kMtp,          ///< every mtp block of a release without DSpark
  kDsparkFirst,  ///< mtp.0 of a DSpark release
  kDsparkLast,   ///< its last mtp block
};

/// Sizes in config symbols; kNone: the tensor has no such dimension.
enum class Dim {
  kNone,
  kOne,
  kThree,
  kVocab,
  kHidden,
  kStreams,
  kStreamsHidden,
  kMixes,
  kHeads,
  kQueries,
  kGroupInput,
  kGroupRanks,
  kQRank,
  kHeadDim,
  kTwoHeadDim,
  kRatio,
  kExperts,
  kExpertsPerToken,
  kExpertWidth,
  kIndexHeads,
  kIndexQueries,
  kIndexDim,
  kTwoIndexDim,
  kTargetsHidden,
  kMarkovRank,
  kConfidenceIn,
};

/// How a row is stored: fp8 and fp4 rows stand for NAME.weight and NAME.scale.
enum class Form { kF32, kBf16, kI64, kFp8, kFp4 };

/// uniform in offset +- factor * sqrt(3 / width); without a width, offset +- factor.
struct Uniform {
  double factor = 0;
  Dim width = Dim::kNone;
  double offset = 0;
};
constexpr Uniform kNormInit = {0.1, Dim::kNone, 1};
constexpr Uniform kUnitInit = {1};
constexpr Uniform kHcFnInit = {1, Dim::kStreamsHidden};
constexpr Uniform kHcScaleInit = {0.25, Dim::kNone, 0.75};
constexpr Uniform kHiddenInit = {1, Dim::kHidden};

struct Row {
  Where where;
  std::string_view name;  ///< "*" is the expert; the layer or block is put in front
  Form form;
  Dim rows, columns;  ///< logical
  Split split;
  Uniform init = {};
};

using enum Where;
using enum Dim;
using enum Form;
using enum Split;

// clang-format off
constexpr Row kTable[] = {
    {kEmbed, "embed.weight",                       kBf16, kVocab, kHidden,             kRows,      kUnitInit},

    {kBlock, "attn_norm.weight",                   kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kBlock, "ffn_norm.weight",                    kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kBlock, "hc_attn_fn",                         kF32,  kMixes, kStreamsHidden,      kReplicate, kHcFnInit},
    {kBlock, "hc_attn_base",                       kF32,  kMixes, kNone,               kReplicate, kUnitInit},
    {kBlock, "hc_attn_scale",                      kF32,  kThree, kNone,               kReplicate, kHcScaleInit},
    {kBlock, "hc_ffn_fn",                          kF32,  kMixes, kStreamsHidden,      kReplicate, kHcFnInit},
    {kBlock, "hc_ffn_base",                        kF32,  kMixes, kNone,               kReplicate, kUnitInit},
    {kBlock, "hc_ffn_scale",                       kF32,  kThree, kNone,               kReplicate, kHcScaleInit},

    {kBlock, "attn.attn_sink",                     kF32,  kHeads, kNone,               kRows,      kUnitInit},
    {kBlock, "attn.wq_a",                          kFp8,  kQRank, kHidden,             kReplicate},
    {kBlock, "attn.q_norm.weight",                 kBf16, kQRank, kNone,               kReplicate, kNormInit},
    {kBlock, "attn.wq_b",                          kFp8,  kQueries, kQRank,            kRows},
    {kBlock, "attn.wkv",                           kFp8,  kHeadDim, kHidden,           kReplicate},
    {kBlock, "attn.kv_norm.weight",                kBf16, kHeadDim, kNone,             kReplicate, kNormInit},
    {kBlock, "attn.wo_a",                          kFp8,  kGroupRanks, kGroupInput,    kRows},
    {kBlock, "attn.wo_b",                          kFp8,  kHidden, kGroupRanks,        kColumns},

    {kCsa, "attn.compressor.wkv.weight",           kBf16, kTwoHeadDim, kHidden,        kReplicate, kHiddenInit},
    {kCsa, "attn.compressor.wgate.weight",         kBf16, kTwoHeadDim, kHidden,        kReplicate, kHiddenInit},
    {kCsa, "attn.compressor.ape",                  kF32,  kRatio, kTwoHeadDim,         kReplicate, {0.5}},
    {kCsa, "attn.compressor.norm.weight",          kBf16, kHeadDim, kNone,             kReplicate, kNormInit},
    // The indexer is whole on every rank: identical selections everywhere without a collective.
    {kCsa, "attn.indexer.wq_b",                    kFp8,  kIndexQueries, kQRank,       kReplicate},
    {kCsa, "attn.indexer.weights_proj.weight",     kBf16, kIndexHeads, kHidden,        kReplicate, kHiddenInit},
    {kCsa, "attn.indexer.compressor.wkv.weight",   kBf16, kTwoIndexDim, kHidden,       kReplicate, kHiddenInit},
    {kCsa, "attn.indexer.compressor.wgate.weight", kBf16, kTwoIndexDim, kHidden,       kReplicate, kHiddenInit},
    {kCsa, "attn.indexer.compressor.ape",          kF32,  kRatio, kTwoIndexDim,        kReplicate, {0.5}},
    {kCsa, "attn.indexer.compressor.norm.weight",  kBf16, kIndexDim, kNone,            kReplicate, kNormInit},

    {kHca, "attn.compressor.wkv.weight",           kBf16, kHeadDim, kHidden,           kReplicate, kHiddenInit},
    {kHca, "attn.compressor.wgate.weight",         kBf16, kHeadDim, kHidden,           kReplicate, kHiddenInit},
    {kHca, "attn.compressor.ape",                  kF32,  kRatio, kHeadDim,            kReplicate, {0.5}},
    {kHca, "attn.compressor.norm.weight",          kBf16, kHeadDim, kNone,             kReplicate, kNormInit},

    {kBlock, "ffn.gate.weight",                    kBf16, kExperts, kHidden,           kReplicate, {2, kHidden}},
    {kHashRouted, "ffn.gate.tid2eid",              kI64,  kVocab, kExpertsPerToken,    kReplicate},
    {kScoreRouted, "ffn.gate.bias",                kF32,  kExperts, kNone,             kReplicate, {0.1}},
    {kBlock, "ffn.experts.*.w1",                   kFp4,  kExpertWidth, kHidden,       kRows},
    {kBlock, "ffn.experts.*.w2",                   kFp4,  kHidden, kExpertWidth,       kColumns},
    {kBlock, "ffn.experts.*.w3",                   kFp4,  kExpertWidth, kHidden,       kRows},
    {kBlock, "ffn.shared_experts.w1",              kFp8,  kExpertWidth, kHidden,       kRows},
    {kBlock, "ffn.shared_experts.w2",              kFp8,  kHidden, kExpertWidth,       kColumns},
    {kBlock, "ffn.shared_experts.w3",              kFp8,  kExpertWidth, kHidden,       kRows},

    {kTail, "hc_head_fn",                          kF32,  kStreams, kStreamsHidden,    kReplicate, kHcFnInit},
    {kTail, "hc_head_base",                        kF32,  kStreams, kNone,             kReplicate, kUnitInit},
    {kTail, "hc_head_scale",                       kF32,  kOne, kNone,                 kReplicate, kHcScaleInit},
    {kTail, "norm.weight",                         kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kTail, "head.weight",                         kBf16, kVocab, kHidden,             kRows,      {4, kHidden}},

    {kMtp, "e_proj",                               kFp8,  kHidden, kHidden,            kReplicate},
    {kMtp, "h_proj",                               kFp8,  kHidden, kHidden,            kReplicate},
    {kMtp, "enorm.weight",                         kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kMtp, "hnorm.weight",                         kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kMtp, "norm.weight",                          kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kMtp, "hc_head_fn",                           kF32,  kStreams, kStreamsHidden,    kReplicate, kHcFnInit},
    {kMtp, "hc_head_base",                         kF32,  kStreams, kNone,             kReplicate, kUnitInit},
    {kMtp, "hc_head_scale",                        kF32,  kOne, kNone,                 kReplicate, kHcScaleInit},

    {kDsparkFirst, "main_proj",                    kFp8,  kHidden, kTargetsHidden,     kReplicate},
    {kDsparkFirst, "main_norm.weight",             kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kDsparkLast, "norm.weight",                   kBf16, kHidden, kNone,              kReplicate, kNormInit},
    {kDsparkLast, "hc_head_fn",                    kF32,  kStreams, kStreamsHidden,    kReplicate, kHcFnInit},
    {kDsparkLast, "hc_head_base",                  kF32,  kStreams, kNone,             kReplicate, kUnitInit},
    {kDsparkLast, "hc_head_scale",                 kF32,  kOne, kNone,                 kReplicate, kHcScaleInit},
    {kDsparkLast, "markov_head.markov_w1.weight",  kBf16, kVocab, kMarkovRank,         kRows,      kUnitInit},
    {kDsparkLast, "markov_head.markov_w2.weight",  kBf16, kVocab, kMarkovRank,         kRows,      {1, kMarkovRank}},
    {kDsparkLast, "confidence_head.proj.weight",   kBf16, kOne, kConfidenceIn,        kReplicate, {1, kConfidenceIn}},
};
// clang-format on

int64_t size_of(Dim dim, const ModelConfig& c, int64_t ratio) {
  switch (dim) {
    case kNone: return 0;
    case kOne: return 1;
    case kThree: return 3;
    case kVocab: return c.vocab_size;
    case kHidden: return c.hidden_size;
    case kStreams: return c.hc_mult;
    case kStreamsHidden: return c.hc_mult * c.hidden_size;
    case kMixes: return c.hc_mixes();
    case kHeads: return c.num_attention_heads;
    case kQueries: return c.num_attention_heads * c.head_dim;
    case kGroupInput: return c.num_attention_heads * c.head_dim / c.o_groups;
    case kGroupRanks: return c.o_groups * c.o_lora_rank;
    case kQRank: return c.q_lora_rank;
    case kHeadDim: return c.head_dim;
    case kTwoHeadDim: return 2 * c.head_dim;
    case kRatio: return ratio;
    case kExperts: return c.n_routed_experts;
    case kExpertsPerToken: return c.num_experts_per_tok;
    case kExpertWidth: return c.moe_intermediate_size;
    case kIndexHeads: return c.index_n_heads;
    case kIndexQueries: return c.index_n_heads * c.index_head_dim;
    case kIndexDim: return c.index_head_dim;
    case kTwoIndexDim: return 2 * c.index_head_dim;
    case kTargetsHidden: return static_cast<int64_t>(c.dspark_target_layer_ids.size()) * c.hidden_size;
    case kMarkovRank: return c.dspark_markov_rank;
    case kConfidenceIn: return c.hidden_size + c.dspark_markov_rank;
  }
  return 0;
}

bool occurs(Where where, const ModelConfig& c, int64_t block) {
  const bool draft = block >= c.num_hidden_layers;
  const int64_t ratio = c.compress_ratios[static_cast<size_t>(block)];
  const bool hash = block < c.num_hash_layers;
  switch (where) {
    case kEmbed:
    case kTail: return false;
    case kBlock: return true;
    case kCsa: return ratio == 4;
    case kHca: return ratio == 128;
    case kHashRouted: return hash;
    case kScoreRouted: return !hash;
    case kMtp: return draft && !c.has_dspark();
    case kDsparkFirst: return c.has_dspark() && block == c.num_hidden_layers;
    case kDsparkLast: return c.has_dspark() && block == c.num_hidden_layers + c.mtp_blocks() - 1;
  }
  return false;
}

int64_t blocks_of(int64_t size, int64_t block) {
  return (size + block - 1) / block;
}

/// The stored tensors of one row: `name` is complete, `spec` has shard and draft set.
void add_tensors(std::vector<TensorSpec>& specs, const Row& row, const std::string& name, int64_t rows, int64_t columns,
                 double width, TensorSpec spec) {
  spec.split = row.split;
  spec.extent = row.split == kColumns ? columns : rows;
  const bool by_columns = row.split == kColumns;
  const auto add = [&](std::string_view suffix, DType dtype, std::vector<int64_t> shape, int64_t step, Fill fill) {
    spec.name = name + std::string(suffix);
    spec.dtype = dtype;
    spec.shape = std::move(shape);
    spec.step = step;
    spec.fill = fill;
    specs.push_back(spec);
  };
  switch (row.form) {
    case kF32:
    case kBf16: {
      const double scale = row.init.factor * (row.init.width == kNone ? 1 : std::sqrt(3 / width));
      std::vector<int64_t> shape = row.columns == kNone ? std::vector{rows} : std::vector{rows, columns};
      add("", row.form == kF32 ? DType::kF32 : DType::kBf16, std::move(shape), 1,
          {FillKind::kUniform, scale, row.init.offset});
      return;
    }
    case kI64: add("", DType::kI64, {rows, columns}, 1, {FillKind::kTokenExperts}); return;
    case kFp8:
      spec.block = kFp8Block;
      add(".weight", DType::kF8E4m3, {rows, columns}, 1, {FillKind::kFp8});
      add(".scale", DType::kF8E8m0, {blocks_of(rows, kFp8Block), blocks_of(columns, kFp8Block)}, kFp8Block,
          {FillKind::kFp8Scale, 0, 0, columns});
      return;
    case kFp4:
      spec.block = by_columns ? kFp4Block : 1;
      add(".weight", DType::kI8, {rows, columns / kFp4PerByte}, by_columns ? kFp4PerByte : 1, {FillKind::kFp4});
      add(".scale", DType::kF8E8m0, {rows, columns / kFp4Block}, by_columns ? kFp4Block : 1,
          {FillKind::kFp4Scale, 0, 0, columns});
      return;
  }
}

/// One row of the table in one place: once, or once per expert.
void expand(std::vector<TensorSpec>& specs, const Row& row, const ModelConfig& c, const std::string& prefix,
            int64_t ratio, const TensorSpec& place) {
  const int64_t rows = size_of(row.rows, c, ratio);
  const int64_t columns = size_of(row.columns, c, ratio);
  const auto width = static_cast<double>(size_of(row.init.width, c, ratio));
  const size_t star = row.name.find('*');
  if (star == row.name.npos) {
    add_tensors(specs, row, prefix + std::string(row.name), rows, columns, width, place);
    return;
  }
  for (int64_t expert = 0; expert < c.n_routed_experts; ++expert) {
    const std::string name =
        fmt::format("{}{}{}{}", prefix, row.name.substr(0, star), expert, row.name.substr(star + 1));
    add_tensors(specs, row, name, rows, columns, width, place);
  }
}

}  // namespace

int64_t TensorSpec::bytes() const {
  return std::accumulate(shape.begin(), shape.end(), dtype_bytes(dtype), std::multiplies<>());
}

std::vector<TensorSpec> tensor_specs(const ModelConfig& c) {
  std::vector<TensorSpec> specs;
  const auto add_once = [&](Where where, int64_t shard) {
    TensorSpec place;
    place.shard = static_cast<int>(shard);
    for (const Row& row : kTable) {
      if (row.where == where) expand(specs, row, c, "", 0, place);
    }
  };
  const auto add_block = [&](int64_t block, const std::string& prefix, int64_t shard, bool draft) {
    TensorSpec place;
    place.shard = static_cast<int>(shard);
    place.draft = draft;
    for (const Row& row : kTable) {
      if (occurs(row.where, c, block)) {
        expand(specs, row, c, prefix, c.compress_ratios[static_cast<size_t>(block)], place);
      }
    }
  };
  const int64_t layers = c.num_hidden_layers;
  add_once(kEmbed, 1);
  for (int64_t i = 0; i < layers; ++i) add_block(i, fmt::format("layers.{}.", i), i + 2, /*draft=*/false);
  add_once(kTail, layers + 2);
  for (int64_t i = 0; i < c.mtp_blocks(); ++i) {
    add_block(layers + i, fmt::format("mtp.{}.", i), layers + 3 + i, /*draft=*/true);
  }
  return specs;
}

int shard_count(const ModelConfig& config) {
  return static_cast<int>(config.num_hidden_layers + 2 + config.mtp_blocks());
}

std::string shard_name(int shard, int shards) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", shard, shards);
}

Slice local_slice(const TensorSpec& spec, int rank, int ranks) {
  require(0 <= rank && rank < ranks, "a rank is outside the number of ranks");
  if (spec.split == kReplicate) return {0, 0, spec.shape[0], 0};
  const bool by_columns = spec.split == kColumns;
  const int64_t share = spec.extent / ranks;
  if (share * ranks != spec.extent || (by_columns && share % spec.block != 0)) {
    const std::string reason =
        by_columns ? fmt::format("a multiple of {} for each rank (whole quantisation blocks)", spec.block)
                   : "equal parts";
    throw Error(Code::kUsage, fmt::format("{} ranks: tensor {} has {} {} to split, expected {}", ranks, spec.name,
                                          spec.extent, split_name(spec.split), reason));
  }
  const int64_t begin = share * rank;
  return {by_columns ? 1 : 0, begin / spec.step, blocks_of(begin + share, spec.step),
          by_columns ? 0 : begin % spec.block};
}

std::vector<int64_t> local_shape(const TensorSpec& spec, const Slice& slice) {
  std::vector<int64_t> shape = spec.shape;
  shape[static_cast<size_t>(slice.dim)] = slice.end - slice.begin;
  return shape;
}

}  // namespace octet
