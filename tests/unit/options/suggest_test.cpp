// Nearest words.
#include "options/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace octet {
namespace {

const std::vector<std::string> kWords = {"max_batch", "seed", "top_p"};

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("seed", "seed"), 0);
  EXPECT_EQ(edit_distance("seed", "sed"), 1);
  EXPECT_EQ(edit_distance("seed", "seeds"), 1);
  EXPECT_EQ(edit_distance("seed", "send"), 1);
  EXPECT_EQ(edit_distance("seed", "sede"), 1);
  EXPECT_EQ(edit_distance("", "seed"), 4);
}

TEST(DidYouMean, NamesTheNearestWord) {
  EXPECT_EQ(did_you_mean("max_bacth", kWords), "; did you mean 'max_batch'?");
  EXPECT_EQ(did_you_mean("sede", kWords), "; did you mean 'seed'?");
}

TEST(DidYouMean, SaysNothingWhenNoWordIsNear) {
  EXPECT_EQ(did_you_mean("temperature", kWords), "");
  EXPECT_EQ(did_you_mean("x", kWords), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace octet
