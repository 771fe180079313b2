// ops::gather_rows and ops::round_to.
#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

template <class Act>
class Elementwise : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Elementwise, Activations);

TYPED_TEST(Elementwise, GathersRowsInTheOrderAsked) {
  Random random(161);
  Array<TypeParam, 2> x(5, 7);
  random.fill_normal(x);
  const std::vector<int64_t> rows = {4, 0, 0, 3};
  Array<TypeParam, 2> y(4, 7);
  cpu::Context ctx;
  ops::gather_rows<TypeParam>(ctx, y, x, array_of(rows));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(copy_rows(y, i, 1), copy_rows(x, rows[static_cast<size_t>(i)], 1)));
  Array<TypeParam, 2> none(0, 7);
  ops::gather_rows<TypeParam>(ctx, none, x, Array<int64_t, 1>(0));
}

TYPED_TEST(Elementwise, RoundsToTheNearestAndTiesToEven) {
  // bf16 has steps of 2^-7 at 1: halfway above 1 goes down to 1, halfway above 1 + 2^-7 up to 1 + 2^-6.
  const Array<float, 2> x = matrix_of<float>({{1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-8f + 0x1p-20f, -1 - 0x1p-8f}});
  const Array<double, 2> nearest = matrix_of<double>({{1, 1 + 0x1p-6, 1 + 0x1p-7, -1}});
  Array<TypeParam, 2> y(1, 4);
  cpu::Context ctx;
  ops::round_to<TypeParam>(ctx, y, x);
  for (int c = 0; c < 4; ++c) {
    EXPECT_EQ(as_double(y(0, c)), (std::is_same_v<TypeParam, bf16> ? nearest(0, c) : as_double(x(0, c))));
  }
}

TYPED_TEST(Elementwise, RoundingKeepsInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Array<float, 2> x = matrix_of<float>({{infinity, -infinity, std::nanf(""), 0}});
  Array<TypeParam, 2> y(1, 4);
  cpu::Context ctx;
  ops::round_to<TypeParam>(ctx, y, x);
  Array<double, 2> want(1, 4);
  for (int c = 0; c < 4; ++c) want(0, c) = as_double(x(0, c));
  EXPECT_TRUE(matches(y, want, {}));
}

}  // namespace
}  // namespace octet::test
