// Where rows go (kernels/compressor.h): packed rows appended to shuffled pages, and the ring of the last raw rows.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/compressor.h"
#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"
#include "tests/support/steps.h"

namespace octet::test {
namespace {

constexpr int64_t kRowBytes = 12;

// Row bytes that name their sequence and index.
Array<std::byte, 2> named_rows(size_t sequence, int64_t count) {
  Array<std::byte, 2> rows(count, kRowBytes);
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t b = 0; b < kRowBytes; ++b) {
      rows(r, b) = static_cast<std::byte>((static_cast<int64_t>(sequence) * 101 + r * 7 + b) % 251);
    }
  }
  return rows;
}

struct Setting {
  std::vector<int64_t> lengths;
  std::vector<Array<std::byte, 2>> rows;
};

Setting setting(const std::vector<int64_t>& lengths, int64_t ratio) {
  Setting s{lengths, {}};
  for (size_t i = 0; i < lengths.size(); ++i) s.rows.push_back(named_rows(i, lengths[i] / ratio));
  return s;
}

void put(std::byte* to, const Array<std::byte, 2>& rows, int64_t row) {
  std::memcpy(to, &rows(row, 0), kRowBytes);
}

Array<std::byte, 3> append(const Setting& s, const Places& places, const Schedule& steps, int64_t ratio) {
  cpu::Context ctx;
  Array<std::byte, 3> memory = places.make_pages(3, kRowBytes);
  for (const std::vector<Piece>& pieces : steps) {
    const Step step(places, pieces);
    Array<int64_t, 1> first(pieces.size() + 1);
    ops::compressed_row_offsets(ctx, first, step.view(), ratio);
    std::vector<Piece> made;
    Array<int64_t, 1> row_positions(first(pieces.size()));
    for (size_t i = 0; i < pieces.size(); ++i) {
      made.push_back({pieces[i].sequence, pieces[i].position / ratio, first(i + 1) - first(i)});
      for (int64_t r = first(i); r < first(i + 1); ++r) {
        row_positions(r) = ratio * (pieces[i].position / ratio + r - first(i));
      }
    }
    ops::append_rows(ctx, pages_of(memory), gather(s.rows, made), first, row_positions, step.view(), ratio);
  }
  return memory;
}

TEST(AppendedRows, LieInTheirSequencesPagesAndNowhereElse) {
  Random random(121);
  for (const int64_t ratio : {4, 128}) {
    const Setting s = setting({3 * ratio, ratio - 1, 8 * ratio + 3, 4 * ratio}, ratio);
    const Places places(random, s.lengths.size(), 3);  // pages of 3 rows: 3 of them hold 9
    Array<std::byte, 3> want = places.make_pages(3, kRowBytes);
    for (size_t i = 0; i < s.lengths.size(); ++i) {
      for (int64_t j = 0; j < s.rows[i].dim(0); ++j) put(paged_row(want, places, i, j), s.rows[i], j);
    }
    for (const std::vector<int64_t>& chunks :
         {std::vector<int64_t>{kWhole, kWhole, kWhole, kWhole}, {1, 1, 1, 1}, {3, 7, 130, 5}}) {
      EXPECT_TRUE(same_bits(append(s, places, schedule(s.lengths, chunks), ratio), want)) << "ratio " << ratio;
    }
  }
}

Array<std::byte, 3> ring_after(const Setting& s, const Places& places, const Schedule& steps, int64_t ring_rows) {
  cpu::Context ctx;
  Array<std::byte, 3> ring = places.make_ring(ring_rows, kRowBytes);
  for (const std::vector<Piece>& pieces : steps) {
    const Step step(places, pieces);
    ops::write_ring(ctx, ring_of(ring), gather(s.rows, pieces), step.view());
  }
  return ring;
}

// Position t of a sequence at row t mod ring_rows of its slot, the last ring_rows positions of each.
Array<std::byte, 3> defined_ring(const Setting& s, const Places& places, int64_t ring_rows) {
  Array<std::byte, 3> ring = places.make_ring(ring_rows, kRowBytes);
  for (size_t i = 0; i < s.lengths.size(); ++i) {
    for (int64_t t = 0; t < s.lengths[i]; ++t) put(&ring(places.slots[i], t % ring_rows, 0), s.rows[i], t);
  }
  return ring;
}

TEST(Ring, HoldsTheLastRowsOfEverySequenceAfterStepsOfAnySize) {
  Random random(122);
  const Setting s = setting({3, 7, 8, 40, 0}, 1);
  const Places places(random, s.lengths.size(), 1);
  const Array<std::byte, 3> want = defined_ring(s, places, 7);
  for (const std::vector<int64_t>& chunks :
       {std::vector<int64_t>{kWhole, kWhole, kWhole, kWhole, 1}, {1, 1, 1, 1, 1}, {3, 3, 3, 3, 3}, {2, 7, 5, 20, 1}}) {
    EXPECT_TRUE(same_bits(ring_after(s, places, schedule(s.lengths, chunks), 7), want));
  }
}

TEST(RingNegativeControl, AnotherRingLengthIsSeen) {
  Random random(123);
  const Setting s = setting({20}, 1);
  const Places places(random, 1, 1);
  Array<std::byte, 3> shifted = defined_ring(s, places, 7);
  for (int64_t t = 13; t < 20; ++t) put(&shifted(places.slots[0], (t + 1) % 7, 0), s.rows[0], t);
  EXPECT_FALSE(same_bits(ring_after(s, places, {{{0, 0, 20}}}, 7), shifted));
}

}  // namespace
}  // namespace octet::test
