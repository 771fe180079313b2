// What octet ab makes of its measurements: changes with intervals, the null arm, the verdict; as a table and as JSON.
// Pure functions of the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/ab_result.h"

namespace octet {

/// What the null arm may differ by although its interval does not hold 0, and the least change a verdict names; a null
/// arm whose interval reaches farther asks for more.
inline constexpr double kNullMargin = 0.01;

/// An arm against the reference, over some cases.
struct ArmChange {
  Estimate ttft;                 ///< relative: -0.04 is 4 % faster
  std::optional<Estimate> step;  ///< in decode
  ResultCheck results;
  /// The one the verdict is about: step in decode, else ttft.
  const Estimate& measure() const { return step ? *step : ttft; }
};

/// Pairs are of one repetition; with several cases a repetition counts with the mean of its logarithms.
ArmChange change_of_arm(const std::vector<AbCase>& cases, size_t arm);

/// The reference against itself: its interval holds 0, or it is within kNullMargin; and its results are the same.
bool null_passes(const ArmChange& null_arm);

/// Whether the self-check of an arm failed, or its logits are off by more than its rounding explains: kInt8Bounds if it
/// or the reference had int8 sums, else kPlainBounds.
bool is_wrong(const AbResult& result, size_t arm);

/// "bf16", or "int8 172/172, fold 172, shard 170": equal texts mean the same path was run.
std::string path_text(const CampaignCounts& counts, const std::string& plain);

/// A sentence for every arm; nothing when the null arm fails.
std::optional<std::string> verdict(const AbResult& result);

/// Names of the arms whose results are wrong, whatever the null arm says of times.
std::vector<std::string> wrong_arms(const AbResult& result);

Json ab_json(const AbResult& result);
std::string ab_table(const AbResult& result);

}  // namespace octet
