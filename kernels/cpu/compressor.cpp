// Gated pooling. Every compressed row is a function of raw rows at fixed positions, wherever they are kept, so chunked
// prefill and decode give the same bits.
#include "kernels/compressor.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/math.h"

namespace octet::ops {
namespace {

/// The raw row of position t of a segment's sequence: this step's, or an earlier step's from the ring.
const float* raw_row(const Segment& s, Mat<const float> raw, const Ring& ring, int64_t t) {
  if (t >= s.position) return raw[s.row + (t - s.position)].data;
  return reinterpret_cast<const float*>(ring.row(s.slot, t));
}

/// Softmax pooling over `slots` (value row, score row) pairs for d channels.
template <class Act>
void pool(Act* out, const std::vector<const float*>& value, const std::vector<const float*>& score, int64_t d,
          float* weight) {
  const size_t slots = value.size();
  for (int64_t c = 0; c < d; ++c) {
    float top = score[0][c];
    for (size_t i = 1; i < slots; ++i) top = std::max(top, score[i][c]);
    float sum = 0;
    for (size_t i = 0; i < slots; ++i) sum += weight[i] = std::exp(score[i][c] - top);
    float pooled = 0;
    for (size_t i = 0; i < slots; ++i) pooled += value[i][c] * (weight[i] / sum);
    out[c] = static_cast<Act>(pooled);
  }
}

}  // namespace

void pack_raw(cpu::Context&, Mat<float> raw, Mat<const float> value, Mat<const float> score,
              Vec<const int64_t> positions, Mat<const float> ape) {
  const int64_t C = value.dim[1];
  for (int64_t t = 0; t < value.dim[0]; ++t) {
    const Vec<const float> bias = ape[positions[t] % ape.dim[0]];
    std::copy(value[t].begin(), value[t].end(), raw[t].data);
    for (int64_t c = 0; c < C; ++c) raw[t][C + c] = score[t][c] + bias[c];
  }
}

void compressed_row_offsets(cpu::Context&, Vec<int64_t> first, const Segments& rows, int64_t ratio) {
  int64_t total = 0;
  for (int64_t s = 0; s < rows.segments.dim[0]; ++s) {
    first[s] = total;
    const Segment& segment = rows.segments[s];
    total += (segment.position + segment.count) / ratio - segment.position / ratio;
  }
  first[rows.segments.dim[0]] = total;
}

template <class Act>
void pool_compressed(cpu::Context& ctx, Mat<Act> pooled, Vec<int64_t> row_positions, Vec<const int64_t> first,
                     const Segments& rows, Mat<const float> raw, const Ring& ring, int64_t ratio) {
  const int64_t C = raw.dim[1] / 2, d = pooled.dim[1];
  const bool overlap = C == 2 * d;
  require(overlap || C == d, "pool_compressed: raw rows have neither one nor two channel groups");
  const auto scope = ctx.scratch_scope();
  Vec<float> weight = ctx.alloc<float>(2 * ratio);
  std::vector<const float*> value, score;
  for (int64_t s = 0; s < rows.segments.dim[0]; ++s) {
    const Segment& segment = rows.segments[s];
    for (int64_t i = first[s]; i < first[s + 1]; ++i) {
      const int64_t j = segment.position / ratio + (i - first[s]);
      value.clear();
      score.clear();
      const auto add = [&](int64_t from, int64_t channel) {
        for (int64_t t = from; t < from + ratio; ++t) {
          const float* row = raw_row(segment, raw, ring, t);
          value.push_back(row + channel);
          score.push_back(row + C + channel);
        }
      };
      if (overlap && j > 0) add(ratio * (j - 1), 0);  // the previous group's first half of channels
      add(ratio * j, overlap ? d : 0);
      pool(pooled[i].data, value, score, d, weight.data);
      row_positions[i] = ratio * j;
    }
  }
}

void append_rows(cpu::Context&, const PagedRows& pages, Mat<const std::byte> packed, Vec<const int64_t> first,
                 Vec<const int64_t> row_positions, const Segments& rows, int64_t ratio) {
  for (int64_t s = 0; s < rows.segments.dim[0]; ++s) {
    for (int64_t i = first[s]; i < first[s + 1]; ++i) {
      std::copy(packed[i].begin(), packed[i].end(), pages.row(rows.pages[s], row_positions[i] / ratio));
    }
  }
}

void write_ring(cpu::Context&, const Ring& ring, Mat<const std::byte> packed, const Segments& rows) {
  for (int64_t s = 0; s < rows.segments.dim[0]; ++s) {
    const Segment& segment = rows.segments[s];
    for (int64_t i = std::max<int64_t>(0, segment.count - ring.rows); i < segment.count; ++i) {
      const Vec<const std::byte> row = packed[segment.row + i];
      std::copy(row.begin(), row.end(), ring.row(segment.slot, segment.position + i));
    }
  }
}

template void pool_compressed(cpu::Context&, Mat<bf16>, Vec<int64_t>, Vec<const int64_t>, const Segments&,
                              Mat<const float>, const Ring&, int64_t);
template void pool_compressed(cpu::Context&, Mat<float>, Vec<int64_t>, Vec<const int64_t>, const Segments&,
                              Mat<const float>, const Ring&, int64_t);

}  // namespace octet::ops
