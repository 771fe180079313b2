// A step's plan: what the engine asks the runner to do. Host data only, equal on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/sample.h"

namespace octet {

using TokenId = int32_t;
/// Stands for the token of a row whose logits are not finite, when a run goes on in spite of one (--on-nan item-error).
inline constexpr TokenId kNotFiniteToken = -2;

/// A run of consecutive positions of one sequence.
struct PlanSegment {
  int32_t slot = 0;             ///< which rings; stable while the sequence lives
  int64_t position = 0;         ///< of the first token
  std::vector<TokenId> tokens;  ///< at least one
  std::vector<int32_t> pages;   ///< page table; covers position + tokens.size() tokens at kPageTokens each
};

/// A row whose logits are wanted, and, if `draw`, how its next token is drawn.
struct PlanSample {
  int64_t row = 0;  ///< index into the step's rows (segments in order)
  bool draw = true;
  ops::SampleParams params;
  std::vector<ops::TokenCount> counts = {};  ///< tokens of the sequence, once each, if params.penalises(); else empty
};

/// The state of one sequence becomes that of another, before the step's rows: rings are copied, whole pages are shared
/// by page table, a page that is filled in part is copied.
struct PlanFork {
  int32_t from_slot = 0, to_slot = 0;
  std::optional<std::pair<int32_t, int32_t>> page = {};  ///< copied: from, to
};

struct BatchPlan {
  std::vector<PlanFork> forks;
  std::vector<PlanSegment> segments;
  std::vector<PlanSample> samples;
  int64_t tokens() const {
    int64_t n = 0;
    for (const PlanSegment& s : segments) n += static_cast<int64_t>(s.tokens.size());
    return n;
  }
};

/// Tokens covered by one page of compressed rows and indexer keys (256 rows at ratio 4, 8 at ratio 128).
inline constexpr int64_t kPageTokens = 1024;

}  // namespace octet
