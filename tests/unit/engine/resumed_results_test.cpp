// The result file of a run that goes on with an earlier one: which rows are found, kept, superseded and repaired.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "io/results.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

using test::TempFolder;
using Open = ResultFile::Open;

/// A row as the engine writes it, shortened to what resuming reads.
std::string row(const std::string& id, const std::string& hash, const std::string& error = "null") {
  return R"({"id":")" + id + R"(","x":{"input_hash":")" + hash + R"("},"error":)" + error + "}";
}
const std::string kA = row("a", "ha"), kB = row("b", "hb"), kC = row("c", "hc");

class ResumedFile : public testing::Test {
 protected:
  void journal(const std::string& text) const { test::write_file(partial_, text); }
  const TempFolder folder_;
  const std::string out_ = folder_.file("out"), partial_ = out_ + ".partial";
};

TEST_F(ResumedFile, StartsAfreshWhereNothingIs) {
  ResultFile file(out_, Open::kResume);
  EXPECT_TRUE(file.earlier().empty());
  file.write(0, "a");
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(out_), "a\n");
}

TEST_F(ResumedFile, FindsTheRowsOfBothForms) {
  const std::string failed = R"({"id":"batch_1","custom_id":"b","response":null,"x":{"input_hash":"hb"},)"
                             R"("error":{"code":"duplicate_custom_id"}})";
  const std::string unreadable = R"({"id":null,"line":3,"x":{"input_hash":"hc"},"error":{"code":"invalid_json"}})";
  journal(kA + "\n" + failed + "\n" + unreadable + "\n" + R"({"id": 4, "x": {}, "error": null})" + "\n");
  const ResultFile file(out_, Open::kResume);
  ASSERT_EQ(file.earlier().size(), 4u);
  const EarlierRow &a = file.earlier()[0], &b = file.earlier()[1], &c = file.earlier()[2], &d = file.earlier()[3];
  EXPECT_EQ(a.id + a.input_hash + b.id + b.input_hash + c.id + c.input_hash + d.id + d.input_hash, "ahabhbnullhc4");
  EXPECT_FALSE(a.failed || a.repeated_id || c.repeated_id || d.failed);
  EXPECT_TRUE(b.failed && b.repeated_id && c.failed);
  EXPECT_EQ(b.offset, a.size);
  EXPECT_EQ(static_cast<size_t>(b.size), failed.size() + 1);
}

TEST_F(ResumedFile, PutsKeptAndNewRowsIntoInputOrder) {
  journal(kC + "\n" + kA + "\n");
  ResultFile file(out_, Open::kResume);
  file.keep(0, 2);
  file.keep(1, 0);
  file.write(1, kB);
  EXPECT_EQ(test::read_file(partial_), kC + "\n" + kA + "\n" + kB + "\n");
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(out_), kA + "\n" + kB + "\n" + kC + "\n");
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(ResumedFile, DropsSupersededRowsAtTheEndOnly) {
  for (const bool unordered : {false, true}) {
    journal(kB + "\n" + kA + "\n");
    ResultFile file(out_, Open::kResume);
    file.keep(1, 0);
    file.write(1, kC);
    EXPECT_EQ(test::read_file(partial_), kB + "\n" + kA + "\n" + kC + "\n");
    file.finish(unordered);
    EXPECT_EQ(test::read_file(out_), kA + "\n" + kC + "\n");
    std::filesystem::remove(out_);
  }
}

TEST_F(ResumedFile, CutsATornLastLine) {
  const std::string more = row("d", "hd");
  for (const size_t left : {size_t{1}, more.size() / 2, more.size()}) {  // the last one lacks its newline only
    journal(kA + "\n" + kB + "\n" + more.substr(0, left));
    ResultFile file(out_, Open::kResume);
    EXPECT_EQ(file.earlier().size(), 2u);
    EXPECT_EQ(test::read_file(partial_), kA + "\n" + kB + "\n");
  }
}

TEST_F(ResumedFile, CutsALastLineThatACrashOfTheMachineFilledWithZeros) {
  journal(kA + "\n" + std::string(40, '\0') + "\n");
  const ResultFile file(out_, Open::kResume);
  EXPECT_EQ(file.earlier().size(), 1u);
  EXPECT_EQ(test::read_file(partial_), kA + "\n");
}

TEST_F(ResumedFile, NamesAnUnreadableLineBeforeTheLast) {
  const auto open = [&] { const ResultFile file(out_, Open::kResume); };
  journal(kA + "\n{\"id\"\n" + kB + "\n");
  test::expect_error(Code::kInput, {"out.partial line 2", "broken at byte 5"}, open);
  journal(kA + "\n{\"score\":1}\n" + kB + "\n");
  test::expect_error(Code::kInput, {"out.partial line 2", "no result line"}, open);
  EXPECT_EQ(test::read_file(partial_), kA + "\n{\"score\":1}\n" + kB + "\n");
}

TEST_F(ResumedFile, BeginsWithACopyOfAFinishedOutput) {
  test::write_file(out_, kA + "\n" + kB + "\n");
  ResultFile file(out_, Open::kResume);
  ASSERT_EQ(file.earlier().size(), 2u);
  file.keep(0, 0);
  file.write(1, kC);
  EXPECT_EQ(test::read_file(out_), kA + "\n" + kB + "\n");
  EXPECT_FALSE(std::filesystem::exists(partial_ + ".copy"));
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(out_), kA + "\n" + kC + "\n");
}

TEST_F(ResumedFile, TakesTheCopyAwayWhenNothingCameOfIt) {
  test::write_file(out_, kA + "\n");
  { const ResultFile file(out_, Open::kResume); }
  EXPECT_FALSE(std::filesystem::exists(partial_));
  EXPECT_EQ(test::read_file(out_), kA + "\n");
}

TEST_F(ResumedFile, BelievesTheJournalBeforeTheOutput) {
  test::write_file(out_, kA + "\n");
  journal(kB + "\n");
  ResultFile file(out_, Open::kResume);
  ASSERT_EQ(file.earlier().size(), 1u);
  EXPECT_EQ(file.earlier()[0].id, "b");
}

TEST_F(ResumedFile, DoesNotGoBackToAnOutputThatWasGivenUp) {
  test::write_file(out_, kA + "\n");
  { const ResultFile file(out_, Open::kForce); }  // ends before its first row
  const ResultFile file(out_, Open::kResume);
  EXPECT_TRUE(file.earlier().empty());
}

TEST_F(ResumedFile, RefusesASecondWriter) {
  test::write_file(out_, kA + "\n");
  const ResultFile first(out_, Open::kResume);
  const auto open = [&] { const ResultFile second(out_, Open::kResume); };
  test::expect_error(Code::kUsage, {"being written by another run"}, open);
}

TEST_F(ResumedFile, LeavesTheJournalOfAnEarlierRunWhenNothingIsWritten) {
  journal(kA + "\n");
  { const ResultFile file(out_, Open::kResume); }
  EXPECT_EQ(test::read_file(partial_), kA + "\n");
}

TEST_F(ResumedFile, UnorderedRenamesTheJournal) {
  journal(kB + "\n");
  ResultFile file(out_, Open::kResume);
  file.keep(0, 1);
  file.write(0, kA);
  file.finish(/*unordered=*/true);
  EXPECT_EQ(test::read_file(out_), kB + "\n" + kA + "\n");
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

TEST_F(ResumedFile, IsSyncedEveryFiveSecondsWhenThereIsSomethingNew) {
  using std::chrono::seconds;
  ResultFile file(out_, Open::kFresh);
  const auto start = ResultFile::Clock::now();
  EXPECT_FALSE(file.sync_if_due(start + seconds(10)));  // nothing to make durable
  file.write(0, "a");
  EXPECT_FALSE(file.sync_if_due(start + seconds(4)));
  EXPECT_TRUE(file.sync_if_due(start + seconds(10)));
  EXPECT_FALSE(file.sync_if_due(start + seconds(20)));
  file.write(1, "b");
  EXPECT_FALSE(file.sync_if_due(start + seconds(14)));
  EXPECT_TRUE(file.sync_if_due(start + seconds(15)));
}

}  // namespace
}  // namespace octet
