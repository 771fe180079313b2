// Random attention problems over several sequences, run step by step through ops::sparse_attention. What they are
// compared with is in attention_definition.h.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "kernels/attention.h"
#include "kernels/cpu/context.h"
#include "kernels/quant.h"
#include "tests/support/random.h"
#include "tests/support/steps.h"

namespace octet::test {

struct AttentionShape {
  int64_t heads = 3;
  int64_t head_dim = 80;
  int64_t rope_dim = 16;
  int64_t window = 70;
  int64_t ratio = 4;     // 0: no compressed rows
  int64_t selected = 0;  // rows chosen for a query; 0: all visible
  int64_t page_rows = 3;
};

template <class Act>
struct AttentionCase {
  AttentionShape shape;
  std::vector<int64_t> lengths;
  std::vector<Array<Act, 3>> q;                  // [length, heads, head_dim]
  std::vector<Array<std::byte, 2>> window_rows;  // packed, [length, bytes]
  std::vector<Array<std::byte, 2>> compressed;   // packed, [length / ratio, bytes]
  std::vector<Array<int32_t, 2>> selected;       // [length, selected]
  Array<float, 1> sink;

  AttentionCase(Random& random, AttentionShape of, std::vector<int64_t> sequence_lengths)
      : shape(of), lengths(std::move(sequence_lengths)), sink(of.heads) {
    random.fill_normal(sink, 2);
    for (const int64_t length : lengths) {
      q.emplace_back(length, shape.heads, shape.head_dim);
      random.fill_normal(q.back(), 2);  // logits of deviation 2: the maximum moves from block to block
      window_rows.push_back(random_rows(random, length));
      compressed.push_back(random_rows(random, shape.ratio == 0 ? 0 : length / shape.ratio));
      selected.push_back(random_choice(random, length));
    }
  }

 private:
  Array<std::byte, 2> random_rows(Random& random, int64_t count) {
    cpu::Context ctx;
    Array<Act, 2> x(count, shape.head_dim);
    random.fill_normal(x);
    Array<std::byte, 2> rows(count, ops::kv_row_bytes<Act>(shape.head_dim, shape.rope_dim));
    ops::pack_kv<Act>(ctx, rows, x, shape.rope_dim);
    return rows;
  }
  Array<int32_t, 2> random_choice(Random& random, int64_t length) {
    Array<int32_t, 2> chosen(length, shape.selected);
    chosen.fill(-1);
    for (int64_t p = 0; p < length && shape.selected > 0; ++p) {
      std::vector<int32_t> rows;
      for (int32_t j = 0; (j + 1) * shape.ratio <= p + 1; ++j) rows.push_back(j);
      random.shuffle(rows);
      for (size_t k = 0; k < rows.size() && k < static_cast<size_t>(shape.selected); ++k) chosen(p, k) = rows[k];
    }
    return chosen;
  }
};

/// The outputs of all sequences, [length, heads, head_dim] each. The ring holds window - 1 rows, the pages only rows
/// that are complete at the end of the step: everything else is NaN.
template <class Act>
std::vector<Array<Act, 3>> attend(const AttentionCase<Act>& c, const Places& places, const Schedule& steps) {
  cpu::Context ctx;
  const AttentionShape& shape = c.shape;
  const int64_t row_bytes = ops::kv_row_bytes<Act>(shape.head_dim, shape.rope_dim);
  std::vector<Array<Act, 3>> result;
  for (const int64_t length : c.lengths) result.emplace_back(length, shape.heads, shape.head_dim);
  Array<std::byte, 3> ring = places.make_ring(shape.window - 1, row_bytes);
  Array<std::byte, 3> pages = places.make_pages(shape.page_rows, row_bytes);
  for (const std::vector<Piece>& pieces : steps) {
    for (const Piece& p : pieces) {
      for (int64_t j = 0; j < c.compressed[p.sequence].dim(0); ++j) {
        if ((j + 1) * shape.ratio > p.position + p.count) break;
        std::memcpy(paged_row(pages, places, p.sequence, j), &c.compressed[p.sequence](j, 0),
                    static_cast<size_t>(row_bytes));
      }
    }
    const Step step(places, pieces);
    const Array<std::byte, 2> chunk = gather(c.window_rows, pieces);
    const Array<int32_t, 2> selected = gather(c.selected, pieces);
    ops::AttentionKeys keys{chunk, ring_of(ring), {}, {}, shape.window, shape.ratio, shape.rope_dim};
    if (shape.ratio > 0) keys.compressed = pages_of(pages);
    if (shape.selected > 0) keys.selected = selected;
    Array<Act, 3> o(step.size(), shape.heads, shape.head_dim);
    ops::sparse_attention<Act>(ctx, o, gather(c.q, pieces), keys, c.sink, step.view());
    scatter(result, o, pieces);
    for (const Piece& p : pieces) {
      for (int64_t t = p.position; t < p.position + p.count; ++t) {
        std::memcpy(&ring(places.slots[p.sequence], t % (shape.window - 1), 0), &c.window_rows[p.sequence](t, 0),
                    static_cast<size_t>(row_bytes));
      }
    }
  }
  return result;
}

}  // namespace octet::test
