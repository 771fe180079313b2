// How far an arm's logits are from the reference's, and from when on that is no rounding. Pure functions, rank 0 only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/ab_stats.h"

namespace octet {

/// One row of logits against the reference's of the same tokens.
struct LogitsChange {
  bool finite = true;       ///< else the figures below mean nothing
  bool same_top = true;     ///< both have the same likeliest token
  double kl = 0;            ///< of the reference's distribution from the arm's, in nats
  double shift = 0;         ///< norm of the difference over the norm of the reference's, both centred
  double margin_shift = 0;  ///< arm minus reference, of the margin between the reference's two likeliest tokens
};

LogitsChange compare_logits(std::span<const float> reference, std::span<const float> arm);

/// The largest value minus the second.
double top_two_margin(std::span<const float> logits);

/// The largest mean shift that rounding explains. Measured with the small models: int8 sums 0.03 to 0.1 (with every sum
/// of every step int8), a sum left out or added twice 0.6 and more; the self-check at the start draws the same line.
inline constexpr double kMostRoundingShift = 0.35;
/// The largest mean divergence that rounding explains, whatever the shift: between these bounds a model that answers
/// with certainty shows a fault in its probabilities first.
inline constexpr double kMostRoundingKl = 0.5;

/// Many places. Places of one prompt are not independent: intervals are of the prompts' means.
struct ResultCheck {
  int64_t places = 0;
  int64_t not_finite = 0;  ///< of these; not in the figures below
  double top1 = 1;         ///< share with the same likeliest token
  double shift = 0;        ///< mean
  Estimate kl = {0, 0, 0};
  Estimate margin_shift = {0, 0, 0};
  bool wrong() const { return not_finite > 0 || shift > kMostRoundingShift || kl.mean > kMostRoundingKl; }
};

/// `prompts` holds the places of each prompt.
ResultCheck check_results(std::span<const std::vector<LogitsChange>> prompts);

}  // namespace octet
