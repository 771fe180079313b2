// The rows of one step, grouped by sequence, and the paged per-sequence rows they read and write. Plain structs of
// views: the CPU walks the segments, a CUDA kernel gets the same arrays in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/tensor.h"

namespace octet {

/// Rows [row, row + count) of the step are positions [position, position + count) of the sequence in `slot`.
struct Segment {
  int64_t row;
  int64_t count;
  int64_t position;
  int32_t slot;
};

/// All rows of a step. T rows, S segments in row order; every row belongs to exactly one segment.
struct Segments {
  Vec<const Segment> segments;   ///< [S]
  Vec<const int32_t> tokens;     ///< [T] token ids
  Vec<const int64_t> positions;  ///< [T] absolute positions
  Mat<const int32_t> pages;      ///< [S, max pages] page table of each segment's sequence
  Vec<const Segment> host;       ///< [S] the same segments where the host can read them

  /// Compressed rows that this step completes over all sequences (host side).
  int64_t completed_rows(int64_t ratio) const {
    int64_t rows = 0;
    for (const Segment& s : host) rows += (s.position + s.count) / ratio - s.position / ratio;
    return rows;
  }
};

/// Rows of one layer kept in a ring per slot: position t lives in row t mod `rows`.
struct Ring {
  std::byte* data = nullptr;  ///< [slots, rows, row_bytes]
  int64_t rows = 0;
  int64_t row_bytes = 0;
  std::byte* row(int32_t slot, int64_t position) const { return data + (slot * rows + position % rows) * row_bytes; }
};

/// Append-only rows of one layer in pages shared by all sequences: row j is row j mod `page_rows` of page j /
/// page_rows.
struct PagedRows {
  std::byte* data = nullptr;  ///< [pages, page_rows, row_bytes]
  int64_t page_rows = 0;
  int64_t row_bytes = 0;
  std::byte* row(Vec<const int32_t> page_table, int64_t j) const {
    return data + (page_table[j / page_rows] * page_rows + j % page_rows) * row_bytes;
  }
};

}  // namespace octet
