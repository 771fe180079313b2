// The watchdog's words: who is to blame for a wait, and how it is said.
#include "comm/breadcrumbs.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace octet::comm {
namespace {

using Process = RankView::Process;

/// Ranks inside the given collective number; `inside` of them, the others have left the one before.
std::vector<RankView> ranks_at(std::initializer_list<uint64_t> moves) {
  std::vector<RankView> ranks;
  for (const uint64_t m : moves) {
    ranks.push_back({.rank = static_cast<int>(ranks.size()),
                     .moves = m,
                     .place = {Collective::kAllReduce, Site{20, Site::Kind::kFfn}},
                     .step = 12});
  }
  return ranks;
}

TEST(Place, SurvivesItsWord) {
  for (const Collective what : {Collective::kAllReduce, Collective::kGather, Collective::kAgreement}) {
    EXPECT_EQ(unpack(pack({what})).what, what);
    EXPECT_FALSE(unpack(pack({what})).site);
    for (const Site site : {Site{0, Site::Kind::kAttn}, Site{60, Site::Kind::kFfn}}) {
      EXPECT_EQ(unpack(pack({what, site})).what, what);
      EXPECT_EQ(unpack(pack({what, site})).site, site);
    }
  }
}

TEST(RankList, JoinsRuns) {
  EXPECT_EQ(rank_list({5}), "rank 5");
  EXPECT_EQ(rank_list({0, 1}), "ranks 0, 1");
  EXPECT_EQ(rank_list({0, 1, 2, 3, 4, 6, 7}), "ranks 0-4, 6, 7");
}

TEST(Hang, NamesTheRankBehindAndThoseThatWait) {
  std::vector<RankView> ranks = ranks_at({3745, 3745, 3745, 3745, 3745, 3744, 3745, 3745});
  ranks[5].place.site = Site{20, Site::Kind::kAttn};
  const std::string text = hang_message(ranks, 2, 8, 30.2);
  EXPECT_EQ(text.find("rank 5 has not entered all-reduce #1873 (layer 20, ffn) for 30 s; ranks 0-4, 6, 7 wait there"),
            0u)
      << text;
  EXPECT_NE(text.find("its last one was all-reduce #1872 (layer 20, attn), in step 12"), text.npos) << text;
  EXPECT_NE(text.find("--timeout"), text.npos) << text;
  EXPECT_TRUE(culprit_is_here(ranks, 2));
}

TEST(Hang, ARankThatWaitsInAnEarlierCollectiveIsNoCulprit) {
  std::vector<RankView> ranks = ranks_at({53, 55, 54, 55});  // rank 0 still needs rank 2's part of #27
  EXPECT_TRUE(hang_message(ranks, 1, 4, 2).starts_with("rank 2 has not entered all-reduce #28"));
  ranks[2].moves = 53;
  ranks[2].process = Process::kStopped;
  const std::string message = hang_message(ranks, 1, 4, 2);
  EXPECT_TRUE(message.starts_with("rank 2 has not entered all-reduce #28")) << message;
  EXPECT_NE(message.find("its process is stopped"), message.npos) << message;
}

TEST(Hang, RanksOfAnotherStageAreBehindWhileTheyAreInNoCollective) {
  std::vector<RankView> ranks = ranks_at({7, 7, 901, 900});  // two stages of two: rank 3 computes
  ranks[2].stage = ranks[3].stage = 1;
  ranks[0].place = ranks[1].place = {Collective::kBroadcast};
  EXPECT_TRUE(hang_message(ranks, 0, 4, 2).starts_with("rank 3 has not entered broadcast #4"))
      << hang_message(ranks, 0, 4, 2);
  ranks[3].moves = 901;  // all wait
  EXPECT_FALSE(culprit_is_here(ranks, 0));
  ranks[2].process = Process::kStopped;
  EXPECT_TRUE(hang_message(ranks, 0, 4, 2).starts_with("rank 2 does not leave")) << hang_message(ranks, 0, 4, 2);
}

TEST(Hang, AStoppedOrDeadProcessIsNoReasonForALongerTimeout) {
  std::vector<RankView> ranks = ranks_at({5, 4});
  ranks[1].process = Process::kStopped;
  EXPECT_NE(hang_message(ranks, 0, 2, 2).find("its process is stopped"), std::string::npos);
  ranks[1].process = Process::kGone;
  const std::string text = hang_message(ranks, 0, 2, 2);
  EXPECT_NE(text.find("its process is gone"), text.npos);
  EXPECT_EQ(text.find("--timeout"), text.npos);
}

TEST(Hang, ARankStoppedInsideTheCollectiveIsNamed) {
  std::vector<RankView> ranks = ranks_at({5, 5, 5});
  EXPECT_FALSE(culprit_is_here(ranks, 0));
  ranks[2].process = Process::kStopped;
  EXPECT_TRUE(culprit_is_here(ranks, 0));
  const std::string text = hang_message(ranks, 0, 3, 2);
  EXPECT_EQ(text.find("rank 2 does not leave all-reduce #3 (layer 20, ffn) for 2 s; ranks 0, 1 wait there"), 0u)
      << text;
}

TEST(Hang, WaitingForAnotherHostSaysSo) {
  const std::vector<RankView> ranks = ranks_at({5, 5});
  EXPECT_EQ(hang_message(ranks, 0, 4, 3).find("ranks 0, 1 wait in all-reduce #3 (layer 20, ffn) for 3 s; a rank of"),
            0u);
  EXPECT_NE(hang_message(ranks, 0, 2, 3).find("none leaves"), std::string::npos);
}

}  // namespace
}  // namespace octet::comm
