// IdPool: ownership of pages and slots.
#include "engine/id_pool.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace octet {
namespace {

using Ids = std::vector<int32_t>;

TEST(IdPool, HandsOutTheLowestFreeIds) {
  IdPool pool(4);
  EXPECT_EQ(pool.acquire(3), (Ids{0, 1, 2}));
  pool.release(Ids{2, 0});
  EXPECT_EQ(pool.acquire(2), (Ids{0, 2}));
}

TEST(IdPool, KeepsAnIdUntilItsLastOwnerReleasesIt) {
  IdPool pool(2);
  const Ids ids = pool.acquire(1);
  pool.retain(ids);
  pool.release(ids);
  EXPECT_EQ(pool.available(), 1);
  pool.release(ids);
  EXPECT_EQ(pool.available(), 2);
}

TEST(IdPool, RefusesToReleaseAFreeId) {
  IdPool pool(2);
  EXPECT_THROW(pool.release(Ids{1}), Error);
}

TEST(IdPool, RefusesMoreThanIsFree) {
  IdPool pool(2);
  EXPECT_THROW(pool.acquire(3), Error);
}

}  // namespace
}  // namespace octet
