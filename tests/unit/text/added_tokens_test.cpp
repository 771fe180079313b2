// The search for added tokens.
#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include <utility>

namespace octet {
namespace {

const AddedTokenFinder kFinder({{"<think>", 10}, {"</think>", 11}, {"<th", 12}, {"<thimble>", 13}, {"｜X｜", 14}});

/// (begin, id) of every match in turn.
std::vector<std::pair<size_t, int32_t>> matches(std::string_view text) {
  std::vector<std::pair<size_t, int32_t>> found;
  size_t from = 0;
  while (const auto match = kFinder.find(text, from)) {
    found.emplace_back(match->begin, match->id);
    from = match->begin + match->length;
  }
  return found;
}

using Found = std::vector<std::pair<size_t, int32_t>>;

TEST(AddedTokens, TheLongestAtAPlaceWins) {
  EXPECT_EQ(matches("<think>"), (Found{{0, 10}}));
  EXPECT_EQ(matches("<thimble>"), (Found{{0, 13}}));
  EXPECT_EQ(matches("<thin"), (Found{{0, 12}}));
}

TEST(AddedTokens, TheLeftmostWinsAndMatchesDoNotOverlap) {
  EXPECT_EQ(matches("a</think><think>"), (Found{{1, 11}, {9, 10}}));
  EXPECT_EQ(matches("<<think>"), (Found{{1, 10}}));
  EXPECT_EQ(matches("｜X｜X｜"), (Found{{0, 14}}));
}

TEST(AddedTokens, AnUnfinishedOneIsText) {
  EXPECT_EQ(matches("</think"), Found{});
  EXPECT_EQ(matches("<"), Found{});
  EXPECT_EQ(matches(""), Found{});
}

TEST(AddedTokens, AreFoundByTheirWholeContent) {
  EXPECT_EQ(kFinder.id_of("<think>"), 10);
  EXPECT_EQ(kFinder.id_of("<think"), std::nullopt);
  EXPECT_EQ(kFinder.id_of("<think>x"), std::nullopt);
}

TEST(AddedTokens, NoneAreFoundWhereThereAreNone) {
  EXPECT_FALSE(AddedTokenFinder({}).find("<think>", 0));
}

}  // namespace
}  // namespace octet
