// A step's plan: what the engine asks the runner to do. Host data only, equal on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sample.h"

namespace octet {

using TokenId = int32_t;

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
};

struct BatchPlan {
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
