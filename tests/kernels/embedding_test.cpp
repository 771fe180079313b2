// ops::embedding: rows of this rank's share of the table, zeros for the ids of other ranks.
#include "kernels/embedding.h"

#include <gtest/gtest.h>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

template <class Act>
class Embedding : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Embedding, Activations);

template <class Act>
Array<Act, 2> embedding(const Array<int32_t, 1>& ids, const Array<bf16, 2>& table, int64_t first_id) {
  cpu::Context ctx;
  Array<Act, 2> y(ids.size(), table.dim(1));
  ops::embedding<Act>(ctx, y, ids, table, first_id);
  return y;
}

template <class Act>
Array<double, 2> defined_embedding(const Array<int32_t, 1>& ids, const Array<bf16, 2>& table, int64_t first_id) {
  Array<double, 2> y(ids.size(), table.dim(1));
  for (int64_t t = 0; t < ids.size(); ++t) {
    const int64_t row = ids(t) - first_id;
    const bool held = row >= 0 && row < table.dim(0);
    for (int64_t c = 0; c < table.dim(1); ++c) y(t, c) = held ? as_double(table(row, c)) : 0;
  }
  return y;
}

TYPED_TEST(Embedding, CopiesItsOwnRowsAndZeroesTheRest) {
  Random random(21);
  Array<bf16, 2> table(5, 13);
  random.fill_normal(table);
  // The first and last row of the share, their neighbours outside it, the ends of the vocabulary, a repeated id.
  const Array<int32_t, 1> ids = array_of<int32_t>({10, 14, 9, 15, 0, 29, 12, 12});
  EXPECT_TRUE(matches(embedding<TypeParam>(ids, table, 10), defined_embedding<TypeParam>(ids, table, 10), {}));
}

TYPED_TEST(Embedding, SharesOfAllRanksSumToTheWholeTable) {
  Random random(22);
  Array<bf16, 2> table(6, 7);
  random.fill_normal(table);
  const Array<int32_t, 1> ids = array_of<int32_t>({0, 1, 2, 3, 4, 5});
  const Array<TypeParam, 2> low = embedding<TypeParam>(ids, copy_rows(table, 0, 3), 0);
  const Array<TypeParam, 2> high = embedding<TypeParam>(ids, copy_rows(table, 3, 3), 3);
  Array<double, 2> sum(6, 7);
  for (int64_t i = 0; i < sum.size(); ++i) sum.begin()[i] = as_double(low.begin()[i]) + as_double(high.begin()[i]);
  EXPECT_TRUE(matches(embedding<TypeParam>(ids, table, 0), sum, {}));
}

TYPED_TEST(Embedding, TakesNoTokens) {
  Array<bf16, 2> table(2, 3);
  EXPECT_EQ(embedding<TypeParam>(Array<int32_t, 1>(0), table, 0).size(), 0);
}

TEST(EmbeddingNegativeControl, AShareThatBeginsOneRowLaterIsSeen) {
  Random random(23);
  Array<bf16, 2> table(5, 13);
  random.fill_normal(table);
  const Array<int32_t, 1> ids = array_of<int32_t>({10, 14, 12});
  EXPECT_FALSE(matches(embedding<bf16>(ids, table, 10), defined_embedding<bf16>(ids, table, 9), {}));
}

}  // namespace
}  // namespace octet::test
