// The types that make a forgotten or doubled reduction a compile error, stated as properties; tests/compile_fail shows
// the same with whole programs.
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "layers/hyper_connection.h"
#include "layers/reduce.h"
#include "tests/mpi/ranks.h"
#include "tests/support/compare.h"

namespace octet::test {
namespace {

template <class X>
concept FitsCarry = requires(X x) {
  Carry<bf16>{std::move(x), {}, {}};
};
template <class X>
concept Reducible = requires(cpu::Context& ctx, X&& x, ReductionTarget<bf16> out, Site site) {
  reduce(ctx, std::forward<X>(x), out, site);
};

static_assert(FitsCarry<Reduced<bf16>>);
static_assert(!FitsCarry<Partial>);
static_assert(!FitsCarry<Mat<bf16>>);
static_assert(!FitsCarry<Reduced<float>>);

static_assert(Reducible<Partial>);
static_assert(!Reducible<Partial&>);
static_assert(!Reducible<const Partial&>);
static_assert(!Reducible<Reduced<bf16>>);

static_assert(!std::is_copy_constructible_v<Partial> && !std::is_copy_assignable_v<Partial>);
static_assert(!std::is_convertible_v<Mat<float>, Partial>);
static_assert(!std::is_constructible_v<Reduced<bf16>, Mat<bf16>>);
static_assert(!std::is_constructible_v<Reduced<bf16>, Mat<const bf16>>);
static_assert(!std::is_constructible_v<Reduced<bf16>, int8::Rows>);
static_assert(!std::is_default_constructible_v<Reduced<bf16>>);

TEST(Reduction, SumsTheSharesInRankOrderAndRoundsOnce) {
  RankContext rank;
  Array<float, 2> share(1, 1);
  share(0, 0) = 1.0f + static_cast<float>(session().rank()) * 0x1p-9f;  // rounded one by one, half of these would be 1
  Array<bf16, 2> out(1, 1);
  reduce(rank.ctx, Partial(share), ReductionTarget<bf16>{out.view(), {}}, {0, Site::Kind::kAttn});
  const auto R = static_cast<float>(session().size());
  EXPECT_EQ(as_double(out(0, 0)), rounded<bf16>(R + R * (R - 1) / 2 * 0x1p-9f));
  EXPECT_EQ(rank.comm.reductions(), 1);
}

TEST(Reduction, RefusesAShareThatWasSummedAlready) {
  RankContext rank;
  Array<float, 2> share(1, 1);
  share(0, 0) = 1;
  Array<bf16, 2> out(1, 1);
  Partial partial(share);
  reduce(rank.ctx, std::move(partial), ReductionTarget<bf16>{out.view(), {}}, {0, Site::Kind::kAttn});
  EXPECT_THROW(reduce(rank.ctx, std::move(partial), ReductionTarget<bf16>{out.view(), {}}, {0, Site::Kind::kAttn}),
               Error);
}

}  // namespace
}  // namespace octet::test
