// Names of keys follow vLLM's benchmark output where it has them.
#include "engine/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/campaign_report.h"

namespace octet {
namespace {

constexpr std::array kPercentiles = {50, 90, 99};
constexpr double kGib = 0x1p30;

double per_second(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

double rounded(double x) {
  return std::round(x * 1000) / 1000;
}

void set_percentiles(Json& object, const std::string& name, const std::vector<Weighted>& values) {
  for (const int p : kPercentiles) {
    object.set(fmt::format("p{}_{}_ms", p, name), rounded(percentile(values, p)));
  }
}

/// The value at 0-based place `rank` of the sorted list that repeats each value `count` times.
double value_at(const std::vector<Weighted>& sorted, int64_t rank) {
  for (const Weighted& w : sorted) {
    if (rank < w.count) return w.value;
    rank -= w.count;
  }
  return sorted.back().value;
}

Json phases_of(const RunnerReport& r, double write_seconds) {
  return Json::object({{"load_seconds", rounded(r.load_seconds)},
                       {"step_seconds", rounded(r.step_seconds)},
                       {"reduce_seconds", rounded(r.reduce_seconds)},
                       {"sample_seconds", rounded(r.sample_seconds)},
                       {"write_seconds", rounded(write_seconds)}});
}

Json rank_object(size_t rank, const RankReport& report) {
  const RunnerReport& r = report.runner;
  return Json::object({{"rank", static_cast<int64_t>(rank)},
                       {"weight_bytes", r.weight_bytes},
                       {"cache_bytes", r.cache_bytes},
                       {"scratch_bytes", r.scratch_bytes},
                       {"peak_rss_bytes", report.peak_rss_bytes},
                       {"load_bytes", r.load_bytes},
                       {"load_seconds", rounded(r.load_seconds)},
                       {"step_seconds", rounded(r.step_seconds)},
                       {"reduce_seconds", rounded(r.reduce_seconds)},
                       {"sample_seconds", rounded(r.sample_seconds)}});
}

}  // namespace

double percentile(std::vector<Weighted> values, double p) {
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  int64_t n = 0;
  for (const Weighted& w : values) n += w.count;
  if (n == 0) return 0;
  const double place = p / 100 * static_cast<double>(n - 1);
  const auto below = static_cast<int64_t>(place);
  const double low = value_at(values, below);
  return low + (value_at(values, std::min(below + 1, n - 1)) - low) * (place - static_cast<double>(below));
}

void RunSummary::add(const Finished& finished, const Timing& timing) {
  ttft_.push_back({static_cast<double>(timing.ttft_us()) / 1000, 1});
  total_.push_back({static_cast<double>(timing.total_us()) / 1000, 1});
  input_tokens_ += finished.prompt_tokens;
  cached_tokens_ += finished.cached_tokens;
  output_tokens_ += static_cast<int64_t>(finished.tokens.size());
}

int64_t RunSummary::failed() const {
  int64_t n = 0;
  for (const auto& [code, count] : errors_) n += count;
  return n;
}

RunSummary::Rates RunSummary::rates() const {
  int64_t prefill_rows = 0, decode_rows = 0;
  double prefill_seconds = 0, decode_seconds = 0;
  for (const StepRecord& s : steps_) {
    const double seconds = static_cast<double>(s.end_us - s.begin_us) * 1e-6;
    const double share = static_cast<double>(s.prefill_rows) / static_cast<double>(s.prefill_rows + s.decode_rows);
    prefill_seconds += seconds * share;
    decode_seconds += seconds * (1 - share);
    prefill_rows += s.prefill_rows;
    decode_rows += s.decode_rows;
  }
  return {.seconds = steps_.empty() ? 0 : static_cast<double>(steps_.back().end_us) * 1e-6,
          .prefill_tok_s = per_second(prefill_rows, prefill_seconds),
          .decode_tok_s = per_second(decode_rows, decode_seconds)};
}

std::vector<Weighted> RunSummary::gaps_ms() const {
  std::vector<Weighted> gaps;
  for (size_t i = 1; i < steps_.size(); ++i) {
    const double gap = static_cast<double>(steps_[i].end_us - steps_[i - 1].end_us) / 1000;
    if (steps_[i].decode_rows > 0) gaps.push_back({gap, steps_[i].decode_rows});
  }
  return gaps;
}

Json RunSummary::to_json(const std::vector<RankReport>& ranks) const {
  const Rates rate = rates();
  Json errors = Json::object();
  for (const auto& [code, count] : errors_) errors.set(code, count);
  Json json =
      Json::object({{"prompts", lines() + failed()},
                    {"completed", lines()},
                    {"completions", completions()},
                    {"failed", failed()},
                    {"errors", std::move(errors)},
                    {"total_input_tokens", input_tokens_},
                    {"total_cached_tokens", cached_tokens_},
                    {"total_output_tokens", output_tokens_},
                    {"duration", rounded(rate.seconds)},
                    {"request_throughput", rounded(per_second(lines(), rate.seconds))},
                    {"output_throughput", rounded(per_second(output_tokens_, rate.seconds))},
                    {"total_token_throughput", rounded(per_second(input_tokens_ + output_tokens_, rate.seconds))},
                    {"prefill_tokens_per_second", rounded(rate.prefill_tok_s)},
                    {"decode_tokens_per_second", rounded(rate.decode_tok_s)},
                    {"steps", static_cast<int64_t>(steps_.size())}});
  set_percentiles(json, "ttft", ttft_);
  set_percentiles(json, "itl", gaps_ms());
  set_percentiles(json, "e2el", total_);
  json.set("campaign", campaign_json(ranks.front().runner.campaign, ranks.front().runner.health));
  json.set("phases", phases_of(ranks.front().runner, write_seconds_));
  Json list = Json::array();
  for (size_t i = 0; i < ranks.size(); ++i) list.push(rank_object(i, ranks[i]));
  json.set("ranks", std::move(list));
  return json;
}

std::vector<std::string> RunSummary::table(const std::vector<RankReport>& ranks) const {
  const Rates rate = rates();
  int64_t largest_rss = 0;
  for (const RankReport& r : ranks) largest_rss = std::max(largest_rss, r.peak_rss_bytes);
  const RunnerReport& first = ranks.front().runner;
  std::vector<std::string> table = {fmt::format("lines        {} done, {} failed", lines_, failed()),
                                    fmt::format("tokens       {} in ({} of them shared), {} out, {:.1f} s",
                                                input_tokens_, cached_tokens_, output_tokens_, rate.seconds),
                                    fmt::format("prefill      {:.1f} tok/s", rate.prefill_tok_s),
                                    fmt::format("decode       {:.1f} tok/s", rate.decode_tok_s)};
  const auto percentiles = [&table](std::string_view name, const std::vector<Weighted>& values) {
    table.push_back(fmt::format("{:<12} p50 {:.1f}  p90 {:.1f}  p99 {:.1f} ms", name, percentile(values, 50),
                                percentile(values, 90), percentile(values, 99)));
  };
  percentiles("first token", ttft_);
  percentiles("token gap", gaps_ms());
  percentiles("total", total_);
  table.push_back(
      fmt::format("time         load {:.1f}  step {:.1f}  of it reduce {:.1f}  sample {:.1f}  write {:.1f} s",
                  first.load_seconds, first.step_seconds, first.reduce_seconds, first.sample_seconds, write_seconds_));
  for (std::string& line : campaign_lines(first.campaign, first.health)) table.push_back(std::move(line));
  table.push_back(fmt::format("memory       at most {:.2f} GiB resident on one of {} ranks",
                              static_cast<double>(largest_rss) / kGib, ranks.size()));
  for (const auto& [code, count] : errors_) table.push_back(fmt::format("error        {} x {}", count, code));
  return table;
}

}  // namespace octet
