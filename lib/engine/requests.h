// From a line of the input to a request the scheduler takes, or to the reason why not. Pure: equal on every rank.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "engine/sampling_policy.h"
#include "engine/sequence.h"
#include "io/prompts.h"
#include "options/options.h"
#include "text/tokenizer.h"

namespace octet {

/// What a request is checked against.
struct RequestLimits {
  const Tokenizer* tokenizer = nullptr;  ///< null: prompts must be token ids and there are no stop strings
  int64_t vocab_size = 0;                ///< of the model
  int64_t max_seq_len = 0;
  TokenId bos = 0;
};

/// A prompt to complete. Precondition: the prompt has no error.
std::variant<Request, ItemError> generate_request(const Prompt& prompt, int64_t index, const RequestLimits& limits,
                                                  const RequestOptions& options, const SamplingDefaults& defaults);

/// A prompt and continuation to score. Precondition: the prompt has no error.
std::variant<Request, ItemError> score_request(const Prompt& prompt, int64_t index, const RequestLimits& limits,
                                               const ScoreOptions& options);

/// Pages that suffice for any `max_batch` of these requests at once: the sum of the largest.
int64_t pages_wanted(const std::vector<Request>& requests, int64_t max_batch);

}  // namespace octet
