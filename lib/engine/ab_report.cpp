// See ab_report.h: changes, paths, verdict.
#include "engine/ab_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet {
namespace {

using Times = std::vector<double> ArmRecord::*;

Estimate change_in(const std::vector<AbCase>& cases, size_t arm, Times times) {
  std::vector<double> logarithms(cases.front().arms[arm].*times);
  std::fill(logarithms.begin(), logarithms.end(), 0.0);
  for (const AbCase& one : cases) {
    const std::vector<double>& own = one.arms[arm].*times;
    const std::vector<double>& reference = one.arms.front().*times;
    require(own.size() == logarithms.size() && reference.size() == own.size(), "as many repetitions in every case");
    for (size_t i = 0; i < own.size(); ++i) {
      logarithms[i] += std::log(own[i] / reference[i]) / static_cast<double>(cases.size());
    }
  }
  return relative(trimmed_ci95(logarithms));
}

std::string percent(double share) {
  const double value = 100 * std::abs(share);
  return fmt::format("{:.{}f}", value, value < 10 ? 1 : 0);
}

RoundingBounds bounds_of(const AbResult& result, size_t arm) {
  const bool int8 = std::any_of(result.cases.begin(), result.cases.end(), [&](const AbCase& one) {
    return one.arms[arm].counts.int8_sums + one.arms.front().counts.int8_sums > 0;
  });
  return int8 ? kInt8Bounds : kPlainBounds;
}

std::string wrong_sentence(const AbResult& result, size_t arm, const ResultCheck& check) {
  const std::string& name = result.names[arm];
  if (arm < result.faults.size() && !result.faults[arm].empty()) {
    return fmt::format("{} gives wrong results: {}", name, result.faults[arm]);
  }
  const RoundingBounds most = bounds_of(result, arm);
  if (check.not_finite > 0) {
    return fmt::format("{} gives wrong results: {} of {} rows of logits are not finite", name, check.not_finite,
                       check.places);
  }
  return fmt::format(
      "{} gives wrong results: its logits are off by {:.3g} of their norm and by {:.3g} nats (rounding explains {} and "
      "{}), {:.0f} % of the likeliest tokens agree",
      name, check.shift, check.kl.mean, most.shift, most.kl, 100 * check.top1);
}

/// The least change that is one: what the reference may differ from itself by.
double least_change(const Estimate& null_arm) {
  return std::max({kNullMargin, std::abs(null_arm.low), std::abs(null_arm.high)});
}

std::string time_sentence(const std::string& name, const std::string& reference, const Estimate& change, double least) {
  const bool has_interval = std::isfinite(change.low) && std::isfinite(change.high) && std::isfinite(least);
  if (!has_interval) return fmt::format("{}: too few repetitions for an interval", name);
  const bool holds_zero = change.low <= 0 && change.high >= 0;
  if (holds_zero || std::abs(change.mean) <= least) {
    const double most = std::max({std::abs(change.low), std::abs(change.high), least});
    return fmt::format("{}: no difference from {} above {} %", name, reference, percent(most));
  }
  const bool is_faster = change.mean < 0;
  const double near = is_faster ? change.high : change.low, far = is_faster ? change.low : change.high;
  return fmt::format("{} is {} % {} than {} (95 % CI {} to {} %)", name, percent(change.mean),
                     is_faster ? "faster" : "slower", reference, percent(near), percent(far));
}

}  // namespace

ArmChange change_of_arm(const std::vector<AbCase>& cases, size_t arm) {
  ArmChange change{.ttft = change_in(cases, arm, &ArmRecord::ttft_ms), .step = {}, .results = {}};
  if (!cases.front().arms[arm].step_ms.empty()) change.step = change_in(cases, arm, &ArmRecord::step_ms);
  std::vector<std::vector<LogitsChange>> results;
  for (const AbCase& one : cases) {
    results.insert(results.end(), one.arms[arm].results.begin(), one.arms[arm].results.end());
  }
  change.results = check_results(results);
  return change;
}

bool null_passes(const ArmChange& null_arm) {
  const Estimate& change = null_arm.measure();
  const bool same_time = (change.low <= 0 && change.high >= 0) || std::abs(change.mean) <= kNullMargin;
  return same_time && !null_arm.results.beyond(kPlainBounds);
}

bool is_wrong(const AbResult& result, size_t arm) {
  if (arm < result.faults.size() && !result.faults[arm].empty()) return true;
  return change_of_arm(result.cases, arm).results.beyond(bounds_of(result, arm));
}

std::string path_text(const CampaignCounts& counts, const std::string& plain) {
  std::string path = counts.int8_sums > 0 ? fmt::format("int8 {}/{}", counts.int8_sums, counts.sums) : plain;
  if (counts.folded_posts > 0) path += fmt::format(", fold {}", counts.folded_posts);
  if (counts.shared_mixes > 0) path += fmt::format(", shard {}", counts.shared_mixes);
  return path;
}

std::vector<std::string> wrong_arms(const AbResult& result) {
  std::vector<std::string> names;
  for (size_t arm = 1; arm < result.names.size(); ++arm) {
    if (is_wrong(result, arm)) names.push_back(result.names[arm]);
  }
  return names;
}

std::optional<std::string> verdict(const AbResult& result) {
  const size_t null_arm = result.names.size() - 1;
  const ArmChange null_change = change_of_arm(result.cases, null_arm);
  if (!null_passes(null_change)) return std::nullopt;
  const double least = least_change(null_change.measure());
  std::string text;
  for (size_t arm = 1; arm < null_arm; ++arm) {
    const ArmChange change = change_of_arm(result.cases, arm);
    if (!text.empty()) text += "; ";
    text += is_wrong(result, arm) ? wrong_sentence(result, arm, change.results)
                                  : time_sentence(result.names[arm], result.names.front(), change.measure(), least);
  }
  return text.empty() ? "no arm but the reference was given" : text;
}

}  // namespace octet
