// The collectives a layer may call: their sums are in rank order bit by bit, and every rank holds the same bytes.
#include "comm/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/mpi/ranks.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

/// Every rank's addend, the same on all ranks: magnitudes from 2^-20 to 2^20, so that the order of a sum shows.
template <class T>
std::vector<Array<T, 2>> addends(Random& random, int64_t rows, int64_t columns) {
  std::vector<Array<T, 2>> all;
  for (int r = 0; r < session().size(); ++r) {
    Array<T, 2> x(rows, columns);
    for (T& v : x) {
      const uint64_t bits = random.bits();
      const float size = std::ldexp(1.0f, static_cast<int>(bits % 41) - 20);
      v = T(size * (static_cast<float>(bits >> 40) * 0x1p-23f - 1));
    }
    all.push_back(std::move(x));
  }
  return all;
}

/// The sum over the addends in the given order, in fp32, rounded once.
template <class T>
Array<T, 2> summed(const std::vector<Array<T, 2>>& all, bool from_the_last = false) {
  Array<T, 2> sum(all[0].dim(0), all[0].dim(1));
  for (int64_t i = 0; i < sum.size(); ++i) {
    float total = 0;
    for (size_t r = 0; r < all.size(); ++r) {
      const float x = static_cast<float>(all[from_the_last ? all.size() - 1 - r : r].begin()[i]);
      total = r == 0 ? x : total + x;
    }
    sum.begin()[i] = T(total);
  }
  return sum;
}

template <class T>
class AllReduce : public testing::Test {};
using Elements = testing::Types<float, bf16>;
TYPED_TEST_SUITE(AllReduce, Elements);

/// Around the one-shot limit of 8192 elements and the slice of 2^20, odd, not divisible by the ranks, and empty.
TYPED_TEST(AllReduce, SumsInRankOrderBitByBit) {
  Random random(301);
  RankContext rank;
  const std::pair<int64_t, int64_t> shapes[] = {{0, 256},  {1, 1},    {1, 3},    {5, 1023},         {8191, 1},
                                                {32, 256}, {8193, 1}, {3, 8000}, {1, (1 << 20) + 5}};
  for (const auto& [rows, columns] : shapes) {
    const std::vector<Array<TypeParam, 2>> all = addends<TypeParam>(random, rows, columns);
    Array<TypeParam, 2> x = all[static_cast<size_t>(session().rank())];
    comm::all_reduce(rank.ctx, x.view());
    EXPECT_TRUE(same_on_all_ranks(hash_of_array(x)));
    EXPECT_TRUE(same_bits(x, summed(all))) << rows << " x " << columns;
  }
  EXPECT_EQ(rank.comm.reductions(), static_cast<int64_t>(std::size(shapes)));
}

TYPED_TEST(AllReduce, GivesAnElementTheSameBitsInAMessageOfAnySize) {
  Random random(302);
  RankContext rank;
  const std::vector<Array<TypeParam, 2>> all = addends<TypeParam>(random, 20, 1000);
  Array<TypeParam, 2> whole = all[static_cast<size_t>(session().rank())];
  Array<TypeParam, 2> by_row = whole;
  comm::all_reduce(rank.ctx, whole.view());
  for (int64_t i = 0; i < 20; ++i) comm::all_reduce(rank.ctx, by_row.view().rows(i, 1));
  EXPECT_TRUE(same_bits(by_row, whole));
}

TEST(AllReduceNegativeControl, AnotherOrderOfTheSumIsSeen) {
  Random random(303);
  RankContext rank;
  const std::vector<Array<float, 2>> all = addends<float>(random, 3, 333);
  Array<float, 2> x = all[static_cast<size_t>(session().rank())];
  comm::all_reduce(rank.ctx, x.view());
  EXPECT_TRUE(same_bits(x, summed(all)));
  if (session().size() > 2) {  // two addends commute
    EXPECT_FALSE(same_bits(x, summed(all, /*from_the_last=*/true)));
  }
}

/// 2^24, 1, -2^24, 1, ...: in rank order the ones that meet 2^24 are lost to rounding.
TEST(AllReduce, LosesWhatAnFp32SumInRankOrderLoses) {
  RankContext rank;
  const float values[] = {0x1p24f, 1, -0x1p24f, 1, 0x1p24f, 1, -0x1p24f, 1};
  const float sums[] = {0, 0x1p24f, 0x1p24f, 0, 1, 0, 0, 0, 1};  // of the first n; those of 1, 2, 4, 8 are used
  Array<float, 2> x(1, 1);
  x(0, 0) = values[session().rank()];
  comm::all_reduce(rank.ctx, x.view());
  EXPECT_EQ(x(0, 0), sums[session().size()]);
}

TEST(GatherColumns, PutsTheRanksPartsSideBySideOnRank0) {
  RankContext rank;
  const int64_t R = session().size();
  for (const auto& [rows, columns] : {std::pair{3, 7}, {1, 1}, {0, 4}, {2, 5000}}) {
    const auto value = [](int64_t r, int64_t s, int64_t i) { return static_cast<float>(r * 100000 + s * 10000 + i); };
    Array<float, 2> part(rows, columns);
    Array<float, 2> whole(is_root() ? rows : 0, R * columns);
    for (int64_t s = 0; s < rows; ++s) {
      for (int64_t i = 0; i < columns; ++i) part(s, i) = value(session().rank(), s, i);
    }
    comm::gather_columns(rank.ctx, whole, part.view());
    for (int64_t s = 0; s < whole.dim(0); ++s) {
      for (int64_t c = 0; c < R * columns; ++c) ASSERT_EQ(whole(s, c), value(c / columns, s, c % columns));
    }
  }
}

TEST(Broadcast, GivesEveryRankTheTokensOfRank0) {
  RankContext rank;
  for (const int count : {0, 1, 17}) {
    Array<int32_t, 1> x(count);
    for (int i = 0; i < count; ++i) x(i) = is_root() ? 7 * i - 3 : -1;
    comm::broadcast(rank.ctx, x.view());
    for (int i = 0; i < count; ++i) EXPECT_EQ(x(i), 7 * i - 3);
  }
}

TEST(Collectives, WorkWithoutACommunicatorAsOneRank) {
  cpu::Context ctx;
  EXPECT_EQ(comm::ranks(ctx), 1);
  EXPECT_EQ(comm::rank(ctx), 0);
  Array<float, 2> x(1, 2);
  x(0, 0) = 1.5f;
  x(0, 1) = -2;
  comm::all_reduce(ctx, x.view());
  EXPECT_TRUE(same_bits(x, matrix_of<float>({{1.5f, -2}})));
}

}  // namespace
}  // namespace octet::test
