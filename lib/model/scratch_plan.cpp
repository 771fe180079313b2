// One function per layer, in the order of its allocations there; tests/mpi/memory_plan_test.cpp compares with the
// runner.
#include "model/scratch_plan.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/dot.h"
#include "kernels/int8_codec.h"
#include "kernels/quant.h"
#include "model/batch.h"
#include "model/memory_plan.h"

namespace octet {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kBlockBytes = int64_t{16} << 20;
constexpr int64_t kFloat = 4, kIndex = 4, kOffset = 8, kSegment = 32;
constexpr int64_t kSliceElements = int64_t{1} << 20, kOneShotElements = int64_t{1} << 13;  // of an all-reduce
constexpr int64_t kSliceBlocks = int64_t{1} << 18;                                         // of an int8 all-reduce

/// The arena's book-keeping without its memory (base/arena.h).
class ArenaModel {
 public:
  class Scope {
   public:
    explicit Scope(ArenaModel& arena) : arena_(&arena), block_(arena.block_), used_(arena.used_) {}
    ~Scope() {
      arena_->block_ = block_;
      arena_->used_ = used_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ArenaModel* arena_;
    size_t block_;
    int64_t used_;
  };

  void take(int64_t bytes) {
    const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (block_ < blocks_.size() && used_ + rounded > blocks_[block_]) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) blocks_.push_back(std::max(rounded, kBlockBytes));
    used_ += rounded;
  }
  int64_t capacity_bytes() const {
    int64_t total = 0;
    for (const int64_t bytes : blocks_) total += bytes;
    return total;
  }

 private:
  std::vector<int64_t> blocks_;
  size_t block_ = 0;
  int64_t used_ = 0;
};

/// A forward pass that only allocates. Letters as in the layers: T tokens, D hidden size, R ranks.
class ScratchWalk {
 public:
  ScratchWalk(const ModelConfig& config, const Stage& stage, Numerics numerics, int ranks,
              const CampaignOptions& campaign, const StepSize& step)
      : c_(config),
        stage_(stage),
        numerics_(numerics),
        R_(ranks),
        campaign_(campaign),
        step_(step),
        T_(step.tokens),
        D_(config.hidden_size) {
    act_ = numerics == Numerics::kExact ? kFloat : kFloat / 2;
    rows_ = kv_row_bytes(config, numerics);
  }

  int64_t run() {
    const ArenaModel::Scope scope(arena_);
    take(T_ * c_.hc_mult * D_, act_);
    segments();
    streams();
    if (stage_.is_first) all_reduce(T_ * D_, act_);
    for (int64_t l = stage_.first_layer; l < stage_.end_layer(); ++l) {
      post_pre();
      attention(c_.compress_ratios[static_cast<size_t>(l)]);
      reduce();
      post_pre();
      moe();
      reduce();
    }
    if (stage_.is_last) head();
    return arena_.capacity_bytes();
  }

 private:
  void take(int64_t count, int64_t bytes) { arena_.take(count * bytes); }

  void segments() {
    const int64_t pages = (step_.context + kPageTokens - 1) / kPageTokens;
    take(step_.segments, kSegment);
    take(T_, kIndex);
    take(T_, kOffset);
    take(step_.segments * pages, kIndex);
  }

  void streams() {
    const int64_t hc = c_.hc_mult;
    take(T_ * D_, act_);
    take(T_ * D_, kFloat);
    take(T_ * D_, act_);
    take(T_ * hc, kFloat);
    take(T_ * hc * hc, kFloat);
    if (int8_sums()) {
      take(T_ * D_, 1);
      take(T_ * D_ / int8::kBlock, kFloat / 2);
    }
    if (campaign_.mhc_post_sqrsum) take(T_, kFloat);
  }

  bool int8_sums() const { return R_ > 1 && campaign_.ar_int8 && T_ >= campaign_.ar_int8_min_tokens; }

  /// A sub-layer's sum. Codes by messages: the addends of this rank's share (lib/comm/mpi_int8_collectives.cpp); peer
  /// memory, where it is, takes none.
  void reduce() {
    if (!int8_sums()) return all_reduce(T_ * D_, kFloat);
    const ArenaModel::Scope scope(arena_);
    const int64_t blocks = std::min(T_ * D_ / int8::kBlock, kSliceBlocks);
    take(R_ * ((blocks + R_ - 1) / R_) * int8::kBlock, 1);
    take(R_ * ((blocks + R_ - 1) / R_), kFloat / 2);
  }

  /// comm::all_reduce of n elements.
  void all_reduce(int64_t n, int64_t bytes) {
    if (R_ == 1) return;
    const ArenaModel::Scope scope(arena_);
    n = std::min(n, kSliceElements);
    if (n <= kOneShotElements) return take(R_ * n, bytes);
    const int64_t share = (n + R_ - 1) / R_;
    take(R_ * share, bytes);
    take(R_ * share, bytes);
    take(share, bytes);
  }

  void linear_input(int64_t rows, int64_t width) {
    if (numerics_ != Numerics::kOfficial) return;
    take(rows * width, 1);
    take(rows * width / ops::kActBlock, 1);
  }

  /// A product whose input of `width` columns is an activation, or its fp8 codes.
  void gemm(int64_t rows, int64_t width) {
    const ArenaModel::Scope scope(arena_);
    if (numerics_ != Numerics::kExact) take(rows * width, kFloat);
    weight_rows(width);
  }
  void weight_rows(int64_t width) { take(cpu::kDotColumns * width, kFloat); }

  void post_pre() {
    const ArenaModel::Scope scope(arena_);
    take(T_ * c_.hc_mixes(), kFloat);
    take(T_ * c_.hc_mult, kFloat);
    mixes(T_);
  }
  void mixes(int64_t rows) {
    const ArenaModel::Scope scope(arena_);
    if (numerics_ != Numerics::kExact) take(rows * c_.hc_mult * D_, kFloat);
    take(rows, kFloat);
    weight_rows(c_.hc_mult * D_);
  }

  void attention(int64_t ratio) {
    const ArenaModel::Scope scope(arena_);
    const int64_t heads = c_.num_attention_heads / R_, groups = c_.o_groups / R_, d = c_.head_dim;
    linear_input(T_, D_);
    take(T_ * c_.q_lora_rank, act_);
    gemm(T_, D_);
    linear_input(T_, c_.q_lora_rank);
    take(T_ * heads * d, act_);
    gemm(T_, c_.q_lora_rank);
    take(T_ * d, act_);
    gemm(T_, D_);
    take(T_, rows_.kv);
    if (ratio == 4) indexer();
    if (ratio != 0) compressor(ratio, (ratio == 4 ? 2 : 1) * d, d, rows_.kv);
    take(T_ * heads * d, act_);
    attend(ratio);
    take(T_ * groups * c_.o_lora_rank, act_);
    {
      const ArenaModel::Scope part(arena_);
      take(T_ * heads / groups * d, kFloat);
      weight_rows(heads / groups * d);
    }
    linear_input(T_, groups * c_.o_lora_rank);
    gemm(T_, groups * c_.o_lora_rank);
  }

  void attend(int64_t ratio) {
    const ArenaModel::Scope scope(arena_);
    const int64_t chunk = T_ - step_.segments + 1;
    const int64_t window = std::min(chunk + c_.sliding_window - 1, step_.context);
    take(window * c_.head_dim, kFloat);
    take(ratio == 0 ? 0 : step_.context / ratio * c_.head_dim, kFloat);
    take(c_.head_dim, kFloat);
    take(c_.head_dim, kFloat);
  }

  void compressor(int64_t ratio, int64_t columns, int64_t d, int64_t row_bytes) {
    const ArenaModel::Scope scope(arena_);
    take(T_ * columns, kFloat);
    take(T_ * columns, kFloat);
    take(T_ * 2 * columns, kFloat);
    gemm(T_, D_);
    take(step_.segments + 1, kOffset);
    const int64_t rows = T_ / ratio + step_.segments;
    take(rows * d, act_);
    take(rows, kOffset);
    take(rows, row_bytes);
  }

  void indexer() {
    const int64_t H = c_.index_n_heads, d = c_.index_head_dim;
    take(T_ * c_.index_topk, kIndex);
    const ArenaModel::Scope scope(arena_);
    compressor(4, 2 * d, d, rows_.index);
    take(T_ * H * d, act_);
    gemm(T_, c_.q_lora_rank);
    take(T_ * H, rows_.index);
    take(T_ * H, act_);
    gemm(T_, D_);
    const int64_t visible = step_.context / 4 + cpu::kDotColumns;
    take(visible * d, kFloat);
    take(H * d, kFloat);
    take(visible, kFloat);
  }

  void moe() {
    const ArenaModel::Scope scope(arena_);
    const int64_t K = c_.num_experts_per_tok, E = c_.n_routed_experts, width = c_.moe_intermediate_size / R_;
    take(T_ * K, kIndex);
    take(T_ * K, kFloat);
    {
      const ArenaModel::Scope gate(arena_);
      take(T_ * E, kFloat);
      gemm(T_, D_);
    }
    take(T_ * K, kIndex);
    take(T_ * K, kFloat);
    take(E + 1, kOffset);
    linear_input(T_, D_);
    take(T_ * K * width, act_);
    {
      const ArenaModel::Scope up(arena_);
      if (numerics_ != Numerics::kExact) take(T_ * D_, kFloat);
      take(T_ * D_, kFloat);  // the rows of one expert: all tokens at most
      take(T_ * width, act_);
      weight_rows(D_);
    }
    linear_input(T_ * K, width);
    gemm(T_ * K, width);
    take(T_ * width, act_);
    take(T_ * width, act_);
    gemm(T_, D_);
    take(T_ * D_, kFloat);
    linear_input(T_, width);
    gemm(T_, width);
  }

  void head() {
    const int64_t S = step_.samples, local = c_.vocab_size / R_;
    take(S, kOffset);
    const ArenaModel::Scope scope(arena_);
    take(S * c_.hc_mult * D_, act_);
    take(S * c_.hc_mult, kFloat);
    mixes(S);
    take(S * D_, act_);
    take(S * local, kFloat);
    gemm(S, D_);
    if (R_ > 1) take(c_.vocab_size, kFloat);
  }

  const ModelConfig& c_;
  const Stage& stage_;
  Numerics numerics_;
  int64_t R_;
  const CampaignOptions& campaign_;
  const StepSize& step_;
  int64_t T_, D_;
  int64_t act_ = 0;
  KvRowBytes rows_{};
  ArenaModel arena_;
};

}  // namespace

int64_t scratch_bytes(const ModelConfig& config, const Stage& stage, Numerics numerics, int ranks,
                      const CampaignOptions& campaign, const StepSize& step) {
  return ScratchWalk(config, stage, numerics, ranks, campaign, step).run();
}

}  // namespace octet
