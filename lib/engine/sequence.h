// A request and what becomes of it. Plain structs; the scheduler moves them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/sample.h"
#include "model/batch.h"

namespace octet {

/// What one sequence is asked to do, checked and complete. Two uses: to generate (tokens = the prompt,
/// max_new_tokens >= 1) and to score (tokens = prompt and continuation, max_new_tokens = 0: nothing is drawn).
struct Request {
  int64_t index = 0;            ///< place among the lines of the input
  std::vector<TokenId> tokens;  ///< fed in this order
  int64_t prompt_tokens = 0;    ///< of these; logits are wanted from position prompt_tokens - 1 on
  int64_t prefill_tokens = 0;   ///< of these, fed in chunks; the others one a step
  int64_t max_new_tokens = 0;
  ops::SampleParams sampling = {};  ///< position is set by the plan
  bool ignore_eos = false;
  std::vector<std::string> stop = {};

  /// Positions to reserve memory for.
  int64_t max_length() const { return static_cast<int64_t>(tokens.size()) + max_new_tokens; }
};

enum class FinishReason {
  kStop,    ///< EOS or a stop string
  kLength,  ///< max_new_tokens, or all tokens fed (score)
};

/// A sequence that has ended. Steps count from 0 in the order of commits.
struct Finished {
  int64_t index = 0;
  int64_t prompt_tokens = 0;
  uint64_t seed = 0;            ///< it was drawn with
  std::vector<TokenId> tokens;  ///< drawn ones, EOS included
  FinishReason reason = FinishReason::kLength;
  bool ended_by_eos = false;
  std::optional<std::string> text;  ///< when there were stop strings: cut before the one that ended it
  int64_t admitted_step = 0;        ///< first step with a row of this sequence
  int64_t first_token_step = 0;     ///< step of the first logits
  int64_t last_step = 0;
};

/// What is behind an entry of BatchPlan::samples.
struct SampleOrigin {
  int64_t index = 0;          ///< of the request
  int64_t position = 0;       ///< of the row whose logits these are
  int64_t prompt_tokens = 0;  ///< of the request
};

}  // namespace octet
