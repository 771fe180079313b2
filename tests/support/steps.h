// Steps over several sequences for tests: which tokens of which sequence a step holds, and the rings and pages that
// carry rows from one step to the next. Slots and pages are shuffled; page 0 belongs to nobody and stays poisoned.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/segments.h"
#include "tests/support/poison.h"
#include "tests/support/random.h"

namespace octet::test {

/// Tokens [position, position + count) of one sequence.
struct Piece {
  size_t sequence;
  int64_t position;
  int64_t count;
};
using Schedule = std::vector<std::vector<Piece>>;  // one list of pieces a step

/// Every step takes the next chunks[s] tokens of each sequence s that is not finished.
inline Schedule schedule(const std::vector<int64_t>& lengths, const std::vector<int64_t>& chunks) {
  Schedule steps;
  std::vector<int64_t> done(lengths.size(), 0);
  while (done != lengths) {
    steps.emplace_back();
    for (size_t s = 0; s < lengths.size(); ++s) {
      const int64_t count = std::min(chunks[s], lengths[s] - done[s]);
      if (count > 0) steps.back().push_back({s, done[s], count});
      done[s] += count;
    }
  }
  return steps;
}

constexpr int64_t kWhole = int64_t{1} << 40;  // a chunk longer than any sequence

/// Where the rows of the sequences live.
struct Places {
  std::vector<int32_t> slots;  // of each sequence
  Array<int32_t, 2> pages;     // [sequences, pages of one], 0 beyond
  int64_t slot_count;
  int64_t page_count;

  Places(Random& random, size_t sequences, int64_t pages_each)
      : pages(sequences, pages_each),
        slot_count(static_cast<int64_t>(sequences) + 2),
        page_count(1 + static_cast<int64_t>(sequences) * pages_each) {
    for (int32_t s = 0; s < slot_count; ++s) slots.push_back(s);
    random.shuffle(slots);
    std::vector<int32_t> free;
    for (int32_t p = 1; p < page_count; ++p) free.push_back(p);
    random.shuffle(free);
    std::copy(free.begin(), free.end(), pages.begin());
  }
  Array<std::byte, 3> make_ring(int64_t rows, int64_t row_bytes) const {
    return Array<std::byte, 3>(slot_count, rows, row_bytes);
  }
  Array<std::byte, 3> make_pages(int64_t rows, int64_t row_bytes) const {
    return Array<std::byte, 3>(page_count, rows, row_bytes);
  }
};

inline Ring ring_of(Array<std::byte, 3>& memory) {
  return {memory.begin(), memory.dim(1), memory.dim(2)};
}
inline PagedRows pages_of(Array<std::byte, 3>& memory) {
  return {memory.begin(), memory.dim(1), memory.dim(2)};
}

/// The arrays behind the Segments of one step.
struct Step {
  Array<Segment, 1> segments;
  Array<int32_t, 1> tokens;
  Array<int64_t, 1> positions;
  Array<int32_t, 2> pages;

  static int64_t total(const std::vector<Piece>& pieces) {
    int64_t count = 0;
    for (const Piece& piece : pieces) count += piece.count;
    return count;
  }
  Step(const Places& places, const std::vector<Piece>& pieces)
      : segments(pieces.size()),
        tokens(total(pieces)),
        positions(total(pieces)),
        pages(pieces.size(), places.pages.dim(1)) {
    int64_t row = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      segments(i) = {row, piece.count, piece.position, places.slots[piece.sequence]};
      for (int64_t j = 0; j < pages.dim(1); ++j) pages(i, j) = places.pages(piece.sequence, j);
      for (int64_t j = 0; j < piece.count; ++j, ++row) {
        tokens(row) = static_cast<int32_t>(piece.sequence);
        positions(row) = piece.position + j;
      }
    }
  }
  Segments view() const { return {segments, tokens, positions, pages, segments}; }
  int64_t size() const { return tokens.size(); }
};

/// The step's rows of per-sequence arrays [length, ...].
template <class T, int Rank>
Array<T, Rank> gather(const std::vector<Array<T, Rank>>& all, const std::vector<Piece>& pieces) {
  const int64_t T_rows = Step::total(pieces);
  auto step = [&]<size_t... I>(std::index_sequence<I...>) {
    return Array<T, Rank>(T_rows, all[0].dim(static_cast<int>(I) + 1)...);
  }
  (std::make_index_sequence<static_cast<size_t>(Rank - 1)>());
  T* to = step.begin();
  for (const Piece& piece : pieces) {
    const auto rows = all[piece.sequence].view().rows(piece.position, piece.count);
    to = std::copy(rows.begin(), rows.end(), to);
  }
  return step;
}

/// The reverse: the step's rows go to their places in the per-sequence arrays.
template <class T, int Rank>
void scatter(std::vector<Array<T, Rank>>& all, const Array<T, Rank>& step, const std::vector<Piece>& pieces) {
  const T* from = step.begin();
  for (const Piece& piece : pieces) {
    const auto rows = all[piece.sequence].view().rows(piece.position, piece.count);
    std::copy(from, from + rows.size(), rows.begin());
    from += rows.size();
  }
}

/// Row j of a sequence in paged memory, by the contract of PagedRows.
inline std::byte* paged_row(Array<std::byte, 3>& memory, const Places& places, size_t sequence, int64_t j) {
  return &memory(places.pages(sequence, j / memory.dim(1)), j % memory.dim(1), 0);
}

}  // namespace octet::test
