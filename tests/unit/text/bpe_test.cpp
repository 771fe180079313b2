// Byte-pair merges on rules small enough to follow by hand, and against the definition executed word for word.
#include "text/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/random.h"

namespace octet {
namespace {

using Ids = std::vector<int32_t>;

std::array<int32_t, 256> bytes_as_ids() {
  std::array<int32_t, 256> ids;
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Ids encode(const std::vector<Merge>& merges, std::string_view piece) {
  BpeScratch scratch;
  Ids ids;
  Bpe(bytes_as_ids(), merges).encode(piece, scratch, ids);
  return ids;
}

/// The definition: merge the leftmost pair of the lowest rank until there is none. Quadratic.
Ids encode_by_definition(const std::vector<Merge>& merges, std::string_view piece) {
  Ids ids(piece.begin(), piece.end());
  for (;;) {
    const auto applies = [&](const Merge& merge) {
      return std::adjacent_find(ids.begin(), ids.end(), [&](int32_t left, int32_t right) {
        return left == merge.left && right == merge.right;
      });
    };
    const auto merge =
        std::find_if(merges.begin(), merges.end(), [&](const Merge& m) { return applies(m) != ids.end(); });
    if (merge == merges.end()) return ids;
    const auto place = applies(*merge);
    *place = merge->result;
    ids.erase(place + 1);
  }
}

TEST(Bpe, AnEmptyPieceHasNoTokens) {
  EXPECT_EQ(encode({{'a', 'b', 300}}, ""), Ids{});
}

TEST(Bpe, LowerRanksMergeFirst) {
  EXPECT_EQ(encode({{'b', 'c', 300}, {'a', 'b', 301}}, "abc"), (Ids{'a', 300}));
  EXPECT_EQ(encode({{'a', 'b', 300}, {'b', 'c', 301}}, "abc"), (Ids{300, 'c'}));
}

TEST(Bpe, EqualRanksMergeFromTheLeft) {
  EXPECT_EQ(encode({{'a', 'a', 300}}, "aaa"), (Ids{300, 'a'}));
  EXPECT_EQ(encode({{'a', 'a', 300}, {300, 'a', 301}}, "aaaa"), (Ids{300, 300}));
}

TEST(Bpe, ATokenOfAMergeTakesPartInLaterOnes) {
  EXPECT_EQ(encode({{'a', 'b', 300}, {300, 'c', 301}}, "abcab"), (Ids{301, 300}));
}

TEST(Bpe, OneResultMayComeFromTwoMerges) {
  const std::vector<Merge> merges = {{'a', 'b', 300}, {'b', 'c', 301}, {300, 'c', 302}, {'a', 301, 302}};
  EXPECT_EQ(encode(merges, "abc"), (Ids{302}));
}

TEST(Bpe, AgreesWithTheDefinitionOnRandomRules) {
  test::Random random(3);
  for (int round = 0; round < 3000; ++round) {
    // Rules over the bytes 0..2 and the results of earlier rules, in shuffled rank order, no pair twice.
    std::vector<Merge> merges;
    for (int32_t result = 3; result < 15; ++result) {
      const Merge merge{static_cast<int32_t>(random.integer(0, result - 1)),
                        static_cast<int32_t>(random.integer(0, result - 1)), result};
      const bool fresh = std::none_of(merges.begin(), merges.end(),
                                      [&](const Merge& m) { return m.left == merge.left && m.right == merge.right; });
      if (fresh) merges.push_back(merge);
    }
    random.shuffle(merges);
    std::string piece;
    for (int64_t left = random.integer(0, 40); left > 0; --left)
      piece.push_back(static_cast<char>(random.integer(0, 2)));
    ASSERT_EQ(encode(merges, piece), encode_by_definition(merges, piece));
  }
}

}  // namespace
}  // namespace octet
