// Which earlier rows are kept, on lists written by hand.
#include "engine/resume.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/expect_error.h"

namespace octet {
namespace {

using Items = std::vector<ResumeItem>;
using Rows = std::vector<EarlierRow>;

EarlierRow good(const std::string& id, const std::string& hash) {
  return {.id = id, .input_hash = hash};
}
EarlierRow bad(const std::string& id, const std::string& hash) {
  return {.id = id, .input_hash = hash, .failed = true};
}
EarlierRow repeated(const std::string& id, const std::string& hash) {
  return {.id = id, .input_hash = hash, .failed = true, .repeated_id = true};
}

/// "row>item" of every kept row, in order of the items.
std::string kept(const ResumePlan& plan) {
  std::string text;
  for (const auto& [row, index] : plan.kept) text += std::to_string(row) + ">" + std::to_string(index) + " ";
  return text;
}

const Items kItems = {{"a", "ha"}, {"b", "hb"}, {"c", "hc"}};

TEST(Resume, KeepsWhatIsFinishedInAnyOrder) {
  const ResumePlan plan = plan_resume(Rows{good("c", "hc"), good("a", "ha")}, kItems, false);
  EXPECT_EQ(kept(plan), "1>0 0>2 ");
  EXPECT_EQ(plan.done, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(plan.left(), 1);
  EXPECT_EQ(plan.sentence(), "resuming: 2 of 3 lines are finished; 1 are left");
}

TEST(Resume, IsDoneWhenEverythingIs) {
  const ResumePlan plan = plan_resume(Rows{good("a", "ha"), good("b", "hb"), good("c", "hc")}, kItems, false);
  EXPECT_EQ(plan.left(), 0);
  EXPECT_EQ(plan.sentence(), "resuming: 3 of 3 lines are finished; nothing is left to do");
}

TEST(Resume, HasEverythingToDoWithoutRows) {
  EXPECT_EQ(plan_resume(Rows{}, kItems, false).left(), 3);
}

TEST(Resume, RunsAChangedLineAgain) {
  const ResumePlan plan = plan_resume(Rows{good("a", "old"), good("b", "hb")}, kItems, false);
  EXPECT_EQ(kept(plan), "1>1 ");
  EXPECT_EQ(plan.changed, 1);
}

TEST(Resume, CountsAChangedLineOnceAndNotWhenALaterRowAnswersIt) {
  EXPECT_EQ(plan_resume(Rows{good("a", "older"), good("a", "old")}, kItems, false).changed, 1);
  const ResumePlan plan = plan_resume(Rows{good("a", "old"), good("a", "ha")}, kItems, false);
  EXPECT_EQ(plan.changed, 0);
  EXPECT_EQ(kept(plan), "1>0 ");
}

TEST(Resume, KeepsErrorsUnlessTheyAreToBeTriedAgain) {
  const Rows rows = {bad("a", "ha"), good("b", "hb")};
  const ResumePlan plain = plan_resume(rows, kItems, false), retry = plan_resume(rows, kItems, true);
  EXPECT_EQ(kept(plain), "0>0 1>1 ");
  EXPECT_EQ(plain.failed, 1);
  EXPECT_EQ(kept(retry), "1>1 ");
  EXPECT_EQ(retry.retried, 1);
  EXPECT_EQ(retry.failed, 0);
}

TEST(Resume, TakesTheLastRowOfALineThatWasTriedAgain) {
  const ResumePlan plan = plan_resume(Rows{bad("a", "ha"), good("a", "ha")}, kItems, true);
  EXPECT_EQ(kept(plan), "1>0 ");
  EXPECT_EQ(plan.retried, 0);
}

TEST(Resume, RefusesRowsOfAnotherInput) {
  test::expect_error(Code::kUsage, {"2 of 3 finished lines", "'x'", "another input"}, [] {
    plan_resume(Rows{good("a", "ha"), good("x", "1"), good("y", "2")}, kItems, false);
  });
}

TEST(Resume, GivesTheRowOfARepeatedIdToTheLaterLine) {
  const Items items = {{"a", "h"}, {"b", "hb"}, {"a", "h"}, {"a", "h"}};
  EXPECT_EQ(kept(plan_resume(Rows{repeated("a", "h")}, items, false)), "0>2 ");
  EXPECT_EQ(kept(plan_resume(Rows{repeated("a", "h"), good("a", "h"), repeated("a", "h")}, items, false)),
            "1>0 2>2 0>3 ");
}

TEST(Resume, KnowsUnreadableLinesByTheirHash) {
  const Items items = {{"null", "h1"}, {"null", "h2"}, {"null", "h1"}};
  EXPECT_EQ(kept(plan_resume(Rows{bad("null", "h1"), bad("null", "h1")}, items, false)), "1>0 0>2 ");
}

TEST(Resume, LetsARepairedLineThatWasUnreadableGo) {
  const ResumePlan plan = plan_resume(Rows{bad("null", "broken"), good("a", "ha")}, kItems, false);
  EXPECT_EQ(kept(plan), "1>0 ");
  EXPECT_EQ(plan.changed, 0);
}

}  // namespace
}  // namespace octet
