// The statistics of octet ab: means with 95 % intervals, and paired relative changes. Pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// A mean and its 95 % interval. With too few values for an interval its ends are NaN; without values all three are.
struct Estimate {
  double mean, low, high;
};

/// The two-sided 95 % quantile of Student's t.
double student_t95(int64_t degrees_of_freedom);

/// The mean with Student's interval.
Estimate mean_ci95(std::span<const double> values);

/// The mean without the lowest and the highest fifth, and Yuen's interval for it: the winsorised deviation, Student's t
/// with the degrees of freedom of what is left. One repetition that another program disturbed does not count. With
/// fewer than five values nothing is left out, and it is the plain mean.
Estimate trimmed_ci95(std::span<const double> values);

/// How much longer the arm took than the reference, as a share: the trimmed mean of ln(arm / reference) over the pairs,
/// taken back by exp(x) - 1. -0.04 is 4 % faster. The ratio of a pair is what drifts of the machine leave alone.
Estimate change_of_pairs(std::span<const double> reference, std::span<const double> arm);

/// exp(x) - 1 of an estimate of logarithms.
Estimate relative(const Estimate& logarithm);

}  // namespace octet
