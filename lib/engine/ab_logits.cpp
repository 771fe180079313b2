// See ab_logits.h. Sums in double, in order of the vocabulary.
#include "engine/ab_logits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace octet {
namespace {

/// The places of the two largest values; ties go to the lower one.
std::pair<size_t, size_t> top_two(std::span<const float> logits) {
  require(logits.size() >= 2, "a vocabulary of two tokens at least");
  size_t first = 0, second = 1;
  if (logits[1] > logits[0]) std::swap(first, second);
  for (size_t i = 2; i < logits.size(); ++i) {
    if (logits[i] > logits[first]) {
      second = first;
      first = i;
    } else if (logits[i] > logits[second]) {
      second = i;
    }
  }
  return {first, second};
}

double mean_of(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

/// ln of the sum of exponentials.
double log_sum(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

double divergence(std::span<const float> reference, std::span<const float> arm) {
  const double own = log_sum(reference), other = log_sum(arm);
  double sum = 0;
  for (size_t i = 0; i < arm.size(); ++i) {
    const double log_p = reference[i] - own;
    sum += std::exp(log_p) * (log_p - (arm[i] - other));
  }
  return std::max(sum, 0.0);
}

double centred_shift(std::span<const float> reference, std::span<const float> arm) {
  const double own = mean_of(reference), other = mean_of(arm);
  double difference = 0, norm = 0;
  for (size_t i = 0; i < arm.size(); ++i) {
    const double x = reference[i] - own, d = arm[i] - other - x;
    difference += d * d;
    norm += x * x;
  }
  return norm > 0 ? std::sqrt(difference / norm) : 0;
}

}  // namespace

double top_two_margin(std::span<const float> logits) {
  const auto [first, second] = top_two(logits);
  return static_cast<double>(logits[first]) - logits[second];
}

LogitsChange compare_logits(std::span<const float> reference, std::span<const float> arm) {
  require(reference.size() == arm.size(), "rows of one vocabulary");
  const auto is_finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(reference.begin(), reference.end(), is_finite) || !std::all_of(arm.begin(), arm.end(), is_finite)) {
    return {.finite = false, .same_top = false};
  }
  const auto [first, second] = top_two(reference);
  return {.same_top = top_two(arm).first == first,
          .kl = divergence(reference, arm),
          .shift = centred_shift(reference, arm),
          .margin_shift = static_cast<double>(arm[first]) - arm[second] - top_two_margin(reference)};
}

ResultCheck check_results(std::span<const std::vector<LogitsChange>> prompts) {
  ResultCheck check;
  std::vector<double> kl, margins;  // of each prompt
  int64_t same = 0, finite = 0;
  double shift = 0;
  for (const std::vector<LogitsChange>& places : prompts) {
    double own_kl = 0, own_margin = 0, own = 0;
    for (const LogitsChange& change : places) {
      ++check.places;
      check.not_finite += change.finite ? 0 : 1;
      if (!change.finite) continue;
      same += change.same_top ? 1 : 0;
      shift += change.shift;
      own_kl += change.kl;
      own_margin += change.margin_shift;
      own += 1;
    }
    if (own == 0) continue;
    finite += static_cast<int64_t>(own);
    kl.push_back(own_kl / own);
    margins.push_back(own_margin / own);
  }
  if (check.places > 0) check.top1 = static_cast<double>(same) / static_cast<double>(check.places);
  if (finite > 0) check.shift = shift / static_cast<double>(finite);
  check.kl = mean_ci95(kl);
  check.margin_shift = mean_ci95(margins);
  return check;
}

}  // namespace octet
