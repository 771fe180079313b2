// From a line of the input to requests the scheduler takes, or to the reason why not. Equal on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/request_limits.h"
#include "engine/sampling_policy.h"
#include "engine/sequence.h"
#include "io/prompts.h"
#include "options/options.h"

namespace octet {

/// How a line's prompt came to be: what its row says about it.
struct ChatProvenance {
  std::string encoding = {};           ///< "v4" or "0731"; empty unless the line has messages
  std::string thinking = {};           ///< "chat" or "thinking"; likewise
  std::string effort = {};             ///< "low", "high" or "max"; empty when none was given
  bool reasoning_open = false;         ///< the prompt ends where the model reasons
  int64_t special_tokens_in_text = 0;  ///< special tokens written in messages
  std::string prompt_sha256 = {};      ///< of the text as it is fed, BOS included; empty for token ids
};

/// The completions that a line asks for. choice = prompt * n + sample; sample j of seed s is drawn with s + j.
struct ItemRequests {
  std::vector<Request> requests;
  ChatProvenance provenance;
};

/// A line to complete. Precondition: the prompt has no error.
std::variant<ItemRequests, ItemError> generate_requests(const Prompt& prompt, int64_t index,
                                                        const RequestLimits& limits, const RequestOptions& options,
                                                        const SamplingDefaults& defaults);

/// A prompt and continuation to score. Precondition: the prompt has no error.
std::variant<Request, ItemError> score_request(const Prompt& prompt, int64_t index, const RequestLimits& limits,
                                               const ScoreOptions& options);

/// Pages that suffice for any `max_batch` of these requests at once: the sum of the largest.
int64_t pages_wanted(const std::vector<Request>& requests, int64_t max_batch);

}  // namespace octet
