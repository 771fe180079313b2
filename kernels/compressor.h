// Gated pooling of KV rows: one compressed row per `ratio` tokens.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/segments.h"

namespace octet::ops {

/// raw[t] = [ value[t], score[t] + ape[position mod ratio] ], the row the compressor keeps of a token.
/// value, score [T, C] fp32; ape [ratio, C]; raw [T, 2C] fp32.   Source: V4 model.py, Compressor.forward.
void pack_raw(cpu::Context&, Mat<float> raw, Mat<const float> value, Mat<const float> score,
              Vec<const int64_t> positions, Mat<const float> ape);

/// How many compressed rows a step completes, and which: fills first[s] = rows completed by segments before s.
/// Row j of a sequence is complete once position ratio * j + ratio - 1 is processed.
/// first [S + 1]; first[S] is the total.
void compressed_row_offsets(cpu::Context&, Vec<int64_t> first, const Segments&, int64_t ratio);

/// pooled[first[s] + i, :] = per-channel softmax pooling of the i-th row that segment s completes.
/// ratio 128 (C = d): softmax over the scores of tokens ratio * j .. ratio * j + ratio - 1.
/// ratio 4 (C = 2d, overlap): softmax over 8 slots, channels [0, d) of the previous group and [d, 2d) of the own group;
/// row 0 has only the own group. fp32; the softmax subtracts the maximum and sums in token order.
/// Tokens of this step come from raw [T, 2C], earlier ones from the ring (2C floats a row). pooled [rows, d] Act (one
/// rounding); row_positions[rows] = ratio * j, the position at which the row is rotated.
/// Source: V4 model.py, Compressor.forward.
template <class Act>
void pool_compressed(cpu::Context&, Mat<Act> pooled, Vec<int64_t> row_positions, Vec<const int64_t> first,
                     const Segments&, Mat<const float> raw, const Ring& ring, int64_t ratio);

/// Appends packed rows to the sequences' pages: row i of segment s is compressed row position / ratio of row_positions.
void append_rows(cpu::Context&, const PagedRows& pages, Mat<const std::byte> rows, Vec<const int64_t> first,
                 Vec<const int64_t> row_positions, const Segments&, int64_t ratio);

/// Writes each segment's last min(count, ring.rows) rows to the ring at their positions. Call after everything that
/// reads older rows.   rows [T, ring.row_bytes].
void write_ring(cpu::Context&, const Ring& ring, Mat<const std::byte> rows, const Segments&);

}  // namespace octet::ops
