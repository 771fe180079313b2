// No clock here: the loop's records bring the time.
#include "engine/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/stop_signal.h"

namespace octet {
namespace {

constexpr int64_t kLinePeriodUs = 5'000'000;
constexpr int64_t kBarPeriodUs = 500'000;

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

std::string time_left_words(const Status& status) {
  if (!status.eta_seconds) return "time left unknown";
  return fmt::format("about {} left", duration_words(*status.eta_seconds));
}

}  // namespace

void ProgressMeter::step(const StepRecord& record, const ProgressState& state) {
  const int64_t rows = int64_t{record.prefill_rows} + record.decode_rows;
  const double us = static_cast<double>(record.end_us - record.begin_us);
  const double decode_us = us * ratio(record.decode_rows, static_cast<double>(rows));
  prefill_us_ += us - decode_us;
  decode_us_ += decode_us;
  prefill_rows_ += record.prefill_rows;
  decode_rows_ += record.decode_rows;
  if (record.decode_rows > 0) ++decode_steps_;
  const auto tokens = static_cast<double>(state.completion_tokens_of_done - state_.completion_tokens_of_done);
  longest_ = std::max(longest_, ratio(tokens, static_cast<double>(state.done - state_.done)));
  state_ = state;
  now_us_ = record.end_us;
}

double ProgressMeter::decode_steps_left() const {
  const double mean = ratio(static_cast<double>(state_.completion_tokens_of_done), static_cast<double>(state_.done));
  const auto left = static_cast<double>(items_left());
  // The first token of a completion comes with its prefill.
  const auto rows_of_done = static_cast<double>(state_.completion_tokens_of_done - state_.completions);
  const double rows_of_running = static_cast<double>(decode_rows_) - rows_of_done;
  const double rows_left = std::max(0.0, left * std::max(0.0, mean - 1) - rows_of_running);
  const double batch = ratio(static_cast<double>(decode_rows_), static_cast<double>(decode_steps_));
  const double tail = batch > 1 ? std::max(0.0, longest_ - mean) : 0;
  return ratio(rows_left, std::clamp(batch, 1.0, std::max(1.0, left))) + tail;
}

std::optional<double> ProgressMeter::seconds_left() const {
  if (items_left() <= 0) return 0;
  if (state_.done == 0) return std::nullopt;
  const auto prompt_rows_left = static_cast<double>(std::max(int64_t{0}, totals_.prompt_tokens - prefill_rows_));
  const double prefill_us = prompt_rows_left * ratio(prefill_us_, static_cast<double>(prefill_rows_));
  const double decode_us = decode_steps_left() * ratio(decode_us_, static_cast<double>(decode_steps_));
  return (prefill_us + decode_us) * 1e-6;
}

Status ProgressMeter::status(RunState state) const {
  const int64_t completion_tokens = decode_rows_ + state_.completions;
  const double seconds = static_cast<double>(now_us_) * 1e-6;
  return {.state = state,
          .done = totals_.kept + state_.done + state_.failed,
          .failed = totals_.kept_failed + state_.failed,
          .total = totals_.items,
          .prompt_tokens = prefill_rows_,
          .completion_tokens = completion_tokens,
          .tokens_per_second = ratio(static_cast<double>(completion_tokens), seconds),
          .eta_seconds = seconds_left(),
          .seconds = seconds,
          .ranks = totals_.ranks};
}

std::string duration_words(double seconds) {
  constexpr int64_t kMinute = 60, kHour = 3600;
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 2 * kMinute) return fmt::format("{} s", whole);
  if (whole < 2 * kHour) return fmt::format("{} min", (whole + kMinute / 2) / kMinute);
  return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
}

std::string progress_sentence(const Status& status, int64_t prompt_tokens_in_all) {
  std::string text = fmt::format("{} of {} lines done", status.done, status.total);
  if (status.failed > 0) text += fmt::format(", {} of them failed", status.failed);
  return text + fmt::format("; {} of {} prompt tokens, {} completion tokens, {:.1f} tok/s, {}", status.prompt_tokens,
                            prompt_tokens_in_all, status.completion_tokens, status.tokens_per_second,
                            time_left_words(status));
}

std::string progress_bar(const Status& status) {
  constexpr int64_t kCells = 24, kWhole = 100;
  const int64_t total = std::max<int64_t>(1, status.total);
  std::string bar(static_cast<size_t>(status.done * kCells / total), '#');
  bar.resize(kCells, '.');
  std::string text = fmt::format("[{}] {:3} %  {}/{}", bar, status.done * kWhole / total, status.done, status.total);
  if (status.failed > 0) text += fmt::format(", {} failed", status.failed);
  return text + fmt::format(", {:.1f} tok/s, {}", status.tokens_per_second, time_left_words(status));
}

Progress::Progress(const ProgressTotals& totals, ProgressStyle style, std::string status_path)
    : meter_(totals), style_(style), file_(std::move(status_path)) {
  file_.write(status(RunState::kRunning), 0);
}

Progress::~Progress() {
  if (ended_) return;
  try {
    end(stop_requested() ? RunState::kInterrupted : RunState::kFailed);
  } catch (const std::exception&) {  // what ends the run is more important, and is on its way
  }
}

Status Progress::status(RunState state) const {
  Status status = meter_.status(state);
  status.resident_bytes = resident_bytes();
  return status;
}

void Progress::draw(const Status& status) {
  std::string line = progress_bar(status);
  const size_t columns = line.size();
  line.resize(std::max(columns, drawn_), ' ');  // over what is left of a longer one
  line.insert(line.begin(), '\r');
  drawn_ = columns;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void Progress::step(const StepRecord& record, const ProgressState& state) {
  meter_.step(record, state);
  now_us_ = record.end_us;
  if (file_.is_due(now_us_)) file_.write(status(RunState::kRunning), now_us_);
  const int64_t period = style_ == ProgressStyle::kBar ? kBarPeriodUs : kLinePeriodUs;
  if (style_ == ProgressStyle::kNone || now_us_ - shown_us_ < period) return;
  shown_us_ = now_us_;
  if (style_ == ProgressStyle::kBar) {
    draw(meter_.status(RunState::kRunning));
  } else {
    log::info("{}", progress_sentence(meter_.status(RunState::kRunning), meter_.totals().prompt_tokens));
  }
}

void Progress::end(RunState state) {
  ended_ = true;
  const Status last = status(state);
  if (style_ == ProgressStyle::kBar) {
    draw(last);
    std::fputc('\n', stderr);
  }
  file_.write(last, now_us_);
}

}  // namespace octet
