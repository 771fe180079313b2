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

/// The largest mean shift and divergence (nats) that an arm's rounding explains.
struct RoundingBounds {
  double shift, kl;
};
/// Arms that sum alike give the same bits, whatever they fold or share.
inline constexpr RoundingBounds kPlainBounds{1e-5, 1e-6};
/// Measured with the small models and every sum int8: shift 0.02 to 0.15, 0.002 to 0.08 nats. A sum that is left out or
/// doubled moves logits by 0.04 to 0.8, which these bounds alone would not always tell from int8: the self-check of the
/// arm does (Runner::check).
inline constexpr RoundingBounds kInt8Bounds{0.35, 0.5};

/// Many places. Places of one prompt are not independent: intervals are of the prompts' means.
struct ResultCheck {
  int64_t places = 0;
  int64_t not_finite = 0;  ///< of these; not in the figures below
  double top1 = 1;         ///< share with the same likeliest token
  double shift = 0;        ///< mean
  Estimate kl = {0, 0, 0};
  Estimate margin_shift = {0, 0, 0};
  bool beyond(const RoundingBounds& most) const { return not_finite > 0 || shift > most.shift || kl.mean > most.kl; }
};

/// `prompts` holds the places of each prompt.
ResultCheck check_results(std::span<const std::vector<LogitsChange>> prompts);

}  // namespace octet
