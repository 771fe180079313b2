// Sparse attention: the key list of each query is gathered as fp32 rows, then an online softmax over blocks of 64.
#include "kernels/attention.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/dot.h"
#include "kernels/cpu/math.h"
#include "kernels/quant.h"

namespace octet::ops {
namespace {

constexpr int64_t kBlock = 64;  ///< list entries per softmax block, as the reference's kernel

/// Keys of one segment, unpacked on first use.
template <class Act>
class SegmentKeys {
 public:
  SegmentKeys(cpu::Context& ctx, const AttentionKeys& keys, const Segment& segment, Vec<const int32_t> pages,
              int64_t head_dim)
      : keys_(keys), segment_(segment), pages_(pages) {
    first_ = std::max<int64_t>(0, segment.position - keys.window_size + 1);
    const int64_t end = segment.position + segment.count;
    window_ = ctx.alloc<float>(end - first_, head_dim);
    for (int64_t t = first_; t < end; ++t) {
      const std::byte* row = t >= segment.position ? keys.chunk[segment.row + (t - segment.position)].data
                                                   : keys.window.row(segment.slot, t);
      unpack_kv_row<Act>(window_[t - first_].data, row, head_dim, keys.rope_dim);
    }
    const int64_t visible = keys.ratio == 0 ? 0 : end / keys.ratio;
    compressed_ = ctx.alloc<float>(visible, head_dim);
    ready_.assign(static_cast<size_t>(visible), false);
  }

  const float* window(int64_t t) const { return window_[t - first_].data; }

  const float* compressed(int64_t j) {
    float* row = compressed_[j].data;
    if (!ready_[static_cast<size_t>(j)]) {
      unpack_kv_row<Act>(row, keys_.compressed.row(pages_, j), compressed_.dim[1], keys_.rope_dim);
      ready_[static_cast<size_t>(j)] = true;
    }
    return row;
  }

 private:
  const AttentionKeys& keys_;
  const Segment& segment_;
  Vec<const int32_t> pages_;
  int64_t first_ = 0;
  Mat<float> window_, compressed_;
  std::vector<bool> ready_;
};

/// The key list of the query at position p in row t: window entries ascending, padding (null) up to window_size, then
/// compressed rows.
template <class Act>
void list_keys(std::vector<const float*>& list, SegmentKeys<Act>& segment, const AttentionKeys& keys, int64_t t,
               int64_t p) {
  list.clear();
  for (int64_t q = std::max<int64_t>(0, p - keys.window_size + 1); q <= p; ++q) list.push_back(segment.window(q));
  list.resize(static_cast<size_t>(keys.window_size), nullptr);
  if (keys.ratio == 0) return;
  const int64_t visible = (p + 1) / keys.ratio;
  if (keys.selected.data == nullptr) {
    for (int64_t j = 0; j < visible; ++j) list.push_back(segment.compressed(j));
    return;
  }
  for (const int32_t j : keys.selected[t]) {
    if (j < 0) break;
    require(j < visible, "attention: a selected row is not visible");
    list.push_back(segment.compressed(j));
  }
}

/// e[i] = q . list[i] * scale for count entries, -inf for padding; the largest of them. Four keys at a time.
float block_logits(float* e, const float* q, const float* const* list, size_t count, float scale, int64_t d) {
  float top = -INFINITY;
  for (size_t i = 0; i < count; i += cpu::kDotColumns) {
    const float* k[cpu::kDotColumns];
    for (size_t j = 0; j < cpu::kDotColumns; ++j) {
      k[j] = i + j < count && list[i + j] != nullptr ? list[i + j] : q;  // q: any readable row
    }
    float s[1][cpu::kDotColumns];
    cpu::dot_tile<1>(s, {q}, {k[0], k[1], k[2], k[3]}, d);
    for (size_t j = 0; j < cpu::kDotColumns && i + j < count; ++j) {
      e[i + j] = list[i + j] == nullptr ? -INFINITY : s[0][j] * scale;
      top = std::max(top, e[i + j]);
    }
  }
  return top;
}

/// o = (((o + w0 k0) + w1 k1) + w2 k2) + w3 k3 per column, in that order.
void add_four(float* o, const float (&w)[4], const float* const (&k)[4], int64_t d) {
  for (int64_t c = 0; c < d; ++c) o[c] = (((o[c] + w[0] * k[0][c]) + w[1] * k[1][c]) + w[2] * k[2][c]) + w[3] * k[3][c];
}

/// out = softmax with sink of one head's query over the list.
template <class Act>
void attend(Act* out, const float* q, const std::vector<const float*>& list, float sink, int64_t d, float* o) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  float top = -INFINITY, denominator = 0;
  std::fill(o, o + d, 0.0f);
  float e[kBlock];
  for (size_t begin = 0; begin < list.size(); begin += kBlock) {
    const size_t count = std::min<size_t>(kBlock, list.size() - begin);
    const float block_top = block_logits(e, q, list.data() + begin, count, scale, d);
    if (block_top == -INFINITY) continue;  // padding only
    const float new_top = std::max(top, block_top);
    const float rescale = std::exp(top - new_top);
    float sum = 0;
    for (int64_t c = 0; c < d; ++c) o[c] *= rescale;
    float weight[4];
    const float* value[4];
    size_t ready = 0;
    for (size_t i = 0; i < count; ++i) {
      const float* k = list[begin + i];
      if (k == nullptr) continue;
      const float w = std::exp(e[i] - new_top);
      sum += w;
      weight[ready] = static_cast<float>(static_cast<Act>(w));
      value[ready] = k;
      if (++ready == 4) {
        add_four(o, weight, value, d);
        ready = 0;
      }
    }
    for (size_t i = 0; i < ready; ++i) {
      for (int64_t c = 0; c < d; ++c) o[c] += weight[i] * value[i][c];
    }
    denominator = denominator * rescale + sum;
    top = new_top;
  }
  denominator += std::exp(sink - top);
  for (int64_t c = 0; c < d; ++c) out[c] = static_cast<Act>(o[c] / denominator);
}

}  // namespace

template <class Act>
void sparse_attention(cpu::Context& ctx, Cube<Act> o, Cube<const Act> q, const AttentionKeys& keys,
                      Vec<const float> sink, const Segments& rows) {
  const int64_t heads = q.dim[1], d = q.dim[2];
  require(sink.dim[0] == heads, "attention: one sink per head");
  std::vector<const float*> list;
  for (int64_t s = 0; s < rows.segments.dim[0]; ++s) {
    const auto scope = ctx.scratch_scope();
    const Segment& segment = rows.segments[s];
    SegmentKeys<Act> segment_keys(ctx, keys, segment, rows.pages[s], d);
    Vec<float> query = ctx.alloc<float>(d), sum = ctx.alloc<float>(d);
    for (int64_t t = segment.row; t < segment.row + segment.count; ++t) {
      list_keys(list, segment_keys, keys, t, rows.positions[t]);
      for (int64_t h = 0; h < heads; ++h) {
        cpu::widen(query.data, q[t][h].data, d);
        attend(o[t][h].data, query.data, list, sink[h], d, sum.data);
      }
    }
  }
}

template void sparse_attention(cpu::Context&, Cube<bf16>, Cube<const bf16>, const AttentionKeys&, Vec<const float>,
                               const Segments&);
template void sparse_attention(cpu::Context&, Cube<float>, Cube<const float>, const AttentionKeys&, Vec<const float>,
                               const Segments&);

}  // namespace octet::ops
