// A request and what becomes of it. Plain structs; the scheduler moves them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/sample.h"
#include "model/batch.h"

namespace octet {

/// A prefix that several requests begin with is a sequence of its own, which they fork. Ids are given by the source of
/// the requests, which also orders them: the prefix first, then those that fork it.
struct PrefixUse {
  int64_t prefix = -1;  ///< id of the prefix whose state this sequence starts from; -1: from nothing
  int64_t length = 0;   ///< its tokens, fewer than the sequence's
};

/// What one sequence is asked to do, checked and complete. Three uses: to generate (tokens = the prompt,
/// max_new_tokens >= 1), to score (tokens = prompt and continuation, max_new_tokens = 0: nothing is drawn), and to be a
/// prefix that others fork (uses >= 1).
struct Request {
  int64_t index = 0;            ///< place among the lines of the input
  int32_t choice = 0;           ///< place among the completions of that line
  std::vector<TokenId> tokens;  ///< fed in this order
  int64_t prompt_tokens = 0;    ///< of these; logits are wanted from position prompt_tokens - 1 on
  int64_t prefill_tokens = 0;   ///< of these, fed in chunks; the others one a step
  int64_t max_new_tokens = 0;
  ops::SampleParams sampling = {};  ///< position is set by the plan
  bool ignore_eos = false;
  std::vector<std::string> stop = {};
  std::vector<TokenId> stop_token_ids = {};
  int32_t logprobs = -1;        ///< alternatives wanted beside each drawn token; -1: no log-probabilities
  int64_t repetition_stop = 0;  ///< tokens that must repeat one piece to end it; 0: off
  PrefixUse fork = {};
  int64_t prefix_id = -1;   ///< of a prefix: the id others name
  int64_t prefix_uses = 0;  ///< of a prefix: how many fork it

  bool is_prefix() const { return prefix_id >= 0; }
  /// Positions to reserve memory for.
  int64_t max_length() const { return static_cast<int64_t>(tokens.size()) + max_new_tokens; }
};

enum class FinishReason {
  kStop,        ///< EOS, a stop token or a stop string
  kLength,      ///< max_new_tokens, or all tokens fed (score)
  kRepetition,  ///< the repetition stop
  kNotFinite,   ///< its logits stopped being finite: no token follows, and the line is an error
};

/// A sequence that has ended. Steps count from 0 in the order of commits.
struct Finished {
  int64_t index = 0;
  int32_t choice = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;    ///< of these, taken from a prefix that another one had computed
  uint64_t seed = 0;            ///< it was drawn with
  std::vector<TokenId> tokens;  ///< drawn ones, EOS included
  FinishReason reason = FinishReason::kLength;
  bool ended_by_eos = false;
  std::optional<TokenId> stop_token;  ///< of stop_token_ids, the last of `tokens`
  std::optional<std::string> stop_string;
  std::optional<std::string> text;  ///< when there were stop strings: cut before the one that ended it
  int64_t admitted_step = 0;        ///< first step with a row of this sequence
  int64_t first_token_step = 0;     ///< step of the first logits
  int64_t last_step = 0;
};

/// What is behind an entry of BatchPlan::samples.
struct SampleOrigin {
  int64_t index = 0;  ///< of the request
  int32_t choice = 0;
  int64_t position = 0;       ///< of the row whose logits these are
  int64_t prompt_tokens = 0;  ///< of the request
  int32_t logprobs = -1;      ///< of the request
};

}  // namespace octet
