// Progress, estimates and the status file, on steps written by hand: the records are the clock.
#include "engine/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/support/test_files.h"

namespace octet {
namespace {

/// A step from one second to another.
StepRecord step_of(int64_t begin_s, int64_t end_s, int32_t prefill_rows, int32_t decode_rows) {
  constexpr int64_t kUs = 1'000'000;
  return {.begin_us = begin_s * kUs, .end_us = end_s * kUs, .prefill_rows = prefill_rows, .decode_rows = decode_rows};
}

TEST(ProgressMeter, KnowsNothingBeforeTheFirstCompletion) {
  ProgressMeter meter({.items = 4, .prompt_tokens = 40});
  meter.step(step_of(0, 1, 10, 0), {});
  EXPECT_EQ(meter.seconds_left(), std::nullopt);
}

TEST(ProgressMeter, CountsPromptAndCompletionTokensLeft) {
  // One sequence at a time: a prompt of 10 tokens takes 1 s, a decode step 1 s, a completion has 3 tokens.
  ProgressMeter meter({.items = 4, .prompt_tokens = 40});
  meter.step(step_of(0, 1, 10, 0), {});
  meter.step(step_of(1, 2, 0, 1), {});
  meter.step(step_of(2, 3, 0, 1), {.done = 1, .completions = 1, .completion_tokens_of_done = 3});
  EXPECT_DOUBLE_EQ(meter.seconds_left().value(), 3 * (1 + 2));
  meter.step(step_of(3, 4, 10, 0), {.done = 1, .completions = 1, .completion_tokens_of_done = 3});
  EXPECT_DOUBLE_EQ(meter.seconds_left().value(), 2 * (1 + 2) + 2);
}

TEST(ProgressMeter, SharesDecodeStepsAmongTheSequencesInFlight) {
  // Two sequences a step, both of 3 tokens: 4 lines left are 2 pairs of 2 decode steps.
  ProgressMeter meter({.items = 6, .prompt_tokens = 0});
  meter.step(step_of(0, 1, 0, 2), {});
  meter.step(step_of(1, 2, 0, 2), {.done = 2, .completions = 2, .completion_tokens_of_done = 6});
  EXPECT_DOUBLE_EQ(meter.seconds_left().value(), 4);
}

TEST(ProgressMeter, AddsATailAsLongAsTheLongestIsLongerThanTheMean) {
  // Completions of 2 and 4 tokens, two sequences a step: 2 lines left are 2 rows each, 2 steps, and a tail of 1 more.
  ProgressMeter meter({.items = 4, .prompt_tokens = 0});
  meter.step(step_of(0, 1, 0, 2), {.done = 1, .completions = 1, .completion_tokens_of_done = 2});
  meter.step(step_of(1, 2, 0, 2), {.done = 2, .completions = 2, .completion_tokens_of_done = 6});
  EXPECT_DOUBLE_EQ(meter.seconds_left().value(), 2 - 0 + 1);
}

TEST(ProgressMeter, LeavesKeptAndFailedLinesOut) {
  ProgressMeter meter({.items = 10, .prompt_tokens = 0, .kept = 7, .kept_failed = 2});
  meter.step(step_of(0, 1, 0, 1), {.done = 1, .failed = 1, .completions = 1, .completion_tokens_of_done = 2});
  EXPECT_DOUBLE_EQ(meter.seconds_left().value(), 1);
  const Status status = meter.status(RunState::kRunning);
  EXPECT_EQ(status.done, 9);
  EXPECT_EQ(status.failed, 3);
}

TEST(ProgressMeter, HasNoTimeLeftAtTheEnd) {
  const ProgressMeter meter({.items = 2, .prompt_tokens = 0, .kept = 2});
  EXPECT_EQ(meter.seconds_left(), 0);
}

TEST(ProgressWords, AreShort) {
  const Status status{.done = 6,
                      .failed = 1,
                      .total = 10,
                      .prompt_tokens = 34,
                      .completion_tokens = 95,
                      .tokens_per_second = 41.23,
                      .eta_seconds = 179.5};
  EXPECT_EQ(progress_sentence(status, 50),
            "6 of 10 lines done, 1 of them failed; 34 of 50 prompt tokens, 95 completion tokens, 41.2 tok/s, about 3 "
            "min left");
  EXPECT_EQ(progress_bar(status), "[##############..........]  60 %  6/10, 1 failed, 41.2 tok/s, about 3 min left");
  EXPECT_EQ(progress_bar({.total = 0}), "[........................]   0 %  0/0, 0.0 tok/s, time left unknown");
  EXPECT_EQ(duration_words(0.2), "1 s");
  EXPECT_EQ(duration_words(119), "119 s");
  EXPECT_EQ(duration_words(12'000), "3 h 20 min");
}

std::string shown_by(ProgressStyle style) {
  testing::internal::CaptureStderr();
  Progress progress({.items = 2, .prompt_tokens = 8}, style, "");
  for (int64_t second = 0; second < 12; ++second) progress.step(step_of(second, second + 1, 1, 0), {});
  progress.end(RunState::kFinished);
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, SaysALineEveryFiveSeconds) {
  const std::string lines = shown_by(ProgressStyle::kAuto);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_NE(lines.find("0 of 2 lines done; 5 of 8 prompt tokens"), std::string::npos) << lines;
}

TEST(Progress, RedrawsABarOnOneLine) {
  const std::string bar = shown_by(ProgressStyle::kBar);
  EXPECT_EQ(std::count(bar.begin(), bar.end(), '\r'), 13);
  EXPECT_EQ(std::count(bar.begin(), bar.end(), '\n'), 1);
  EXPECT_EQ(bar.back(), '\n');
}

TEST(Progress, IsSilentWhenAsked) {
  EXPECT_EQ(shown_by(ProgressStyle::kNone), "");
}

class StatusOfARun : public testing::Test {
 protected:
  Json read() const { return parse_json(test::read_file(path_), "status"); }
  std::string state() const { return read().find("state")->text; }
  const test::TempFolder folder_;
  const std::string path_ = folder_.file("status.json");
};

TEST_F(StatusOfARun, IsReplacedEveryTwoSeconds) {
  Progress progress({.items = 4, .prompt_tokens = 8, .ranks = 2}, ProgressStyle::kNone, path_);
  EXPECT_EQ(read().find("done")->dump(), "0");
  progress.step(step_of(0, 1, 4, 0), {.done = 1, .completions = 1, .completion_tokens_of_done = 1});
  EXPECT_EQ(read().find("done")->dump(), "0");
  progress.step(step_of(1, 2, 0, 1), {.done = 2, .failed = 1, .completions = 2, .completion_tokens_of_done = 3});
  const Json status = read();
  EXPECT_GT(status.find("resident_bytes")->as_int().value(), 0);
  std::string rest;
  for (const auto& [key, value] : status.members) {
    if (key != "resident_bytes") rest += key + "=" + value.dump() + " ";
  }
  EXPECT_EQ(rest,
            "state=\"running\" done=3 failed=1 total=4 prompt_tokens=4 completion_tokens=3 tok_s=1.5 eta_s=1.5 "
            "seconds=2 ranks=2 ");
  progress.end(RunState::kFinished);
  EXPECT_EQ(state(), "finished");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(StatusOfARun, IsFailedWhenNobodySaysHowItEnded) {
  { const Progress progress({.items = 4}, ProgressStyle::kNone, path_); }
  EXPECT_EQ(state(), "failed");
}

TEST_F(StatusOfARun, ThatCannotBeWrittenDoesNotEndIt) {
  testing::internal::CaptureStderr();
  {
    Progress progress({.items = 4}, ProgressStyle::kNone, folder_.file("none/status.json"));
    progress.step(step_of(0, 3, 1, 0), {});
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
}

}  // namespace
}  // namespace octet
