// See ab_stats.h.
#include "engine/ab_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace octet {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kTrimmedShare = 0.2;

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double sum_of_squares(std::span<const double> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return sum;
}

/// `kept` values stand for all; their sum of squares is the winsorised one of all.
Estimate interval(double mean, double squares, int64_t kept) {
  if (kept < 2) return {mean, kNone, kNone};
  const auto h = static_cast<double>(kept);
  const double half = student_t95(kept - 1) * std::sqrt(squares / (h * (h - 1)));
  return {mean, mean - half, mean + half};
}

}  // namespace

double student_t95(int64_t degrees_of_freedom) {
  require(degrees_of_freedom >= 1, "Student's t needs a degree of freedom");
  constexpr std::array kTable = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
                                 2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
  const auto index = static_cast<size_t>(degrees_of_freedom - 1);
  if (index < kTable.size()) return kTable[index];
  // Cornish and Fisher's expansion about the normal quantile, right to four digits from here on.
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
  const auto n = static_cast<double>(degrees_of_freedom);
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

Estimate mean_ci95(std::span<const double> values) {
  if (values.empty()) return {kNone, kNone, kNone};
  return interval(mean_of(values), sum_of_squares(values), static_cast<int64_t>(values.size()));
}

Estimate trimmed_ci95(std::span<const double> values) {
  if (values.empty()) return {kNone, kNone, kNone};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto cut = static_cast<size_t>(kTrimmedShare * static_cast<double>(sorted.size()));
  const size_t kept = sorted.size() - 2 * cut;
  const double mean = mean_of(std::span(sorted).subspan(cut, kept));
  std::fill_n(sorted.begin(), cut, sorted[cut]);
  std::fill(sorted.end() - static_cast<std::ptrdiff_t>(cut), sorted.end(), sorted[sorted.size() - 1 - cut]);
  return interval(mean, sum_of_squares(sorted), static_cast<int64_t>(kept));
}

Estimate relative(const Estimate& logarithm) {
  return {std::expm1(logarithm.mean), std::expm1(logarithm.low), std::expm1(logarithm.high)};
}

Estimate change_of_pairs(std::span<const double> reference, std::span<const double> arm) {
  require(reference.size() == arm.size(), "pairs need two of each");
  std::vector<double> logarithms;
  for (size_t i = 0; i < arm.size(); ++i) logarithms.push_back(std::log(arm[i] / reference[i]));
  return relative(trimmed_ci95(logarithms));
}

}  // namespace octet
