// The lines of the output files as JSON objects: a completion, a score, or an error.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "engine/loop.h"
#include "engine/sequence.h"
#include "io/prompts.h"
#include "text/tokenizer.h"

namespace octet {

/// Log-probabilities of a continuation, from the log-softmax (in double) of unscaled logits.
struct Score {
  std::vector<double> logprobs;  ///< of each continuation token
  std::vector<bool> greedy;      ///< whether it has the largest logit (ties to the lower id)
};

/// {"id","line","text","token_ids","finish_reason","usage","timing","x","error":null}; text is null without a
/// tokenizer.
Json completion_row(const Prompt& prompt, const Finished& finished, const Timing& timing, const Tokenizer* tokenizer);

/// {"id","line","logprobs","greedy","sum_logprob","usage","timing","error":null}. A log-probability of -inf is -9999.
Json score_row(const Prompt& prompt, const Score& score, const Timing& timing);

/// {"id","line","error":{"code","message","line","limit"?,"got"?}}; the other keys of a row are there and null.
Json error_row(const Prompt& prompt, const ItemError& error, PromptForm form);

}  // namespace octet
