// What octet ab has measured, before anything is made of it. Plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/ab_logits.h"
#include "options/campaign_counts.h"
#include "options/options.h"

namespace octet {

/// A completion against the reference's of the same prompt, both greedy.
struct Agreement {
  Json id;                            ///< of the line
  int64_t tokens = 0;                 ///< of the reference's completion
  int64_t agreed = 0;                 ///< of these, before the first that differs
  std::optional<double> margin = {};  ///< of the reference's two likeliest tokens where they part; empty: they do not
};

/// What one arm did in one case. Times and results by repetition, in generate by prompt.
struct ArmRecord {
  std::vector<double> ttft_ms;                     ///< from the first step to the first token of the last sequence
  std::vector<double> step_ms;                     ///< decode: a step's mean time
  std::vector<std::vector<LogitsChange>> results;  ///< against the reference; rank 0 only
  std::vector<Agreement> agreements;               ///< generate; rank 0 only
  CampaignCounts counts;
};

/// One length, one concurrency, or a file of prompts.
struct AbCase {
  std::string title;      ///< "256 tokens"
  int64_t tokens = 0;     ///< of each prompt; 0 when they differ
  int64_t sequences = 1;  ///< at a time
  std::vector<ArmRecord> arms = {};
};

struct AbResult {
  AbMode mode = AbMode::kPrefill;
  std::string plain_path;                ///< what a sum is when no flag is on: "bf16", or "fp32" with --numerics exact
  std::vector<std::string> names;        ///< of the arms: the reference first, the null arm last
  std::vector<std::string> faults = {};  ///< what the self-check said of each arm, empty: nothing
  std::vector<AbCase> cases;
};

}  // namespace octet
