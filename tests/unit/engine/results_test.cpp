// The result file: order, durability of whole lines, and who may write where.
#include "io/results.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

using test::TempFolder;
using Open = ResultFile::Open;

Code code_of_opening(const std::string& path, ResultFile::Open how) {
  try {
    const ResultFile file(path, how);
  } catch (const Error& e) {
    return e.code();
  }
  return Code::kInternal;  // no error
}

TEST(ResultFile, PutsRowsIntoInputOrder) {
  const TempFolder folder;
  ResultFile file(folder.file("out"), Open::kFresh);
  file.write(2, "c");
  file.write(0, "a");
  file.write(1, "b");
  EXPECT_EQ(test::read_file(folder.file("out.partial")), "c\na\nb\n");
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(folder.file("out")), "a\nb\nc\n");
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.partial")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.sorted")));
}

TEST(ResultFile, RefusesAnExistingOutput) {
  const TempFolder folder;
  test::write_file(folder.file("out"), "old\n");
  EXPECT_EQ(code_of_opening(folder.file("out"), Open::kFresh), Code::kUsage);
  EXPECT_EQ(test::read_file(folder.file("out")), "old\n");
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.partial")));
}

TEST(ResultFile, KeepsTheOldOutputUntilTheNewOneIsComplete) {
  const TempFolder folder;
  test::write_file(folder.file("out"), "old\n");
  ResultFile file(folder.file("out"), Open::kForce);
  file.write(0, "new");
  EXPECT_EQ(test::read_file(folder.file("out")), "old\n");
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(folder.file("out")), "new\n");
}

TEST(ResultFile, RefusesASecondWriter) {
  const TempFolder folder;
  const ResultFile first(folder.file("out"), Open::kFresh);
  EXPECT_EQ(code_of_opening(folder.file("out"), Open::kForce), Code::kUsage);
}

TEST(ResultFile, DoesNotThrowAwayLinesOfAnInterruptedRun) {
  const TempFolder folder;
  { ResultFile(folder.file("out"), Open::kFresh).write(0, "a"); }
  EXPECT_EQ(code_of_opening(folder.file("out"), Open::kFresh), Code::kUsage);
  EXPECT_EQ(test::read_file(folder.file("out.partial")), "a\n");
}

TEST(ResultFile, GivesThemUpWhenForced) {
  const TempFolder folder;
  test::write_file(folder.file("out.partial"), "a\nb\ntorn");
  ResultFile file(folder.file("out"), Open::kForce);
  file.write(0, "c");
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(folder.file("out")), "c\n");
}

TEST(ResultFile, StartsAfreshOverATornLine) {
  const TempFolder folder;
  test::write_file(folder.file("out.partial"), "{\"id\":");
  ResultFile file(folder.file("out"), Open::kFresh);
  file.write(0, "a");
  file.finish(/*unordered=*/false);
  EXPECT_EQ(test::read_file(folder.file("out")), "a\n");
}

TEST(ResultFile, LeavesNoJournalWhenNothingWasWritten) {
  const TempFolder folder;
  { const ResultFile file(folder.file("out"), Open::kFresh); }
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.partial")));
}

TEST(ResultFile, NeverKeepsATornLine) {
  const TempFolder folder;
  ResultFile file(folder.file("out"), Open::kFresh);
  file.write(0, "first");
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 10, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THROW(file.write(1, "does not fit"), Error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(test::read_file(folder.file("out.partial")), "first\n");
}

TEST(ResultFile, RefusesAFolderThatIsNotThere) {
  EXPECT_EQ(code_of_opening("no/such/folder/out", Open::kFresh), Code::kUsage);
}

}  // namespace
}  // namespace octet
