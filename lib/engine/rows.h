// The lines of the output files as JSON objects: a completion, a score, or an error. A line is answered in its own
// form: native, or as OpenAI's batch files (openai_rows.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/logprobs.h"
#include "engine/loop.h"
#include "engine/requests.h"
#include "engine/sequence.h"
#include "io/prompts.h"
#include "text/tokenizer.h"

namespace octet {

/// One of the completions of a line.
struct Completion {
  Finished finished;
  Timing timing;
  std::vector<TokenLogprobs> logprobs = {};  ///< of each token, if the line asked for them; else empty
};

/// What all rows of a run share.
struct RowContext {
  const Tokenizer* tokenizer = nullptr;  ///< null: texts are null; chats need one
  std::string model = {};                ///< the name it is served under
  int64_t created = 0;                   ///< the run's beginning, in seconds since 1970
};

/// Log-probabilities of a continuation, from the log-softmax (in double) of unscaled logits.
struct Score {
  std::vector<double> logprobs;  ///< of each continuation token
  std::vector<bool> greedy;      ///< whether it has the largest logit (ties to the lower id)
};

/// All completions of a line, in order of choice. Native: {"id","line","text"|"message","token_ids","finish_reason",
/// "stop_reason"?,"logprobs"?,"usage","timing","x","error":null}; with more than one completion {"id","line","choices":
/// [{"index", ...}],"usage",...}. text is null without a tokenizer. `input_hash` becomes x.input_hash, by which a run
/// that is resumed knows its lines.
Json completion_row(const Prompt& prompt, const ChatProvenance& provenance, std::span<const Completion> choices,
                    std::string_view input_hash, const RowContext& context);

/// {"id","line","logprobs","greedy","sum_logprob","usage","timing","error":null}. A log-probability of -inf is -9999.
Json score_row(const Prompt& prompt, const Score& score, const Timing& timing);

/// Native: {"id","line","x":{"input_hash"},"error":{"code","message","line","limit"?,"got"?}}; the other keys of a row
/// are there and null, as is x in rows of score.
Json error_row(const Prompt& prompt, const ItemError& error, PromptForm form, std::string_view input_hash = {});

/// The error of a line whose logits stopped being finite (--on-nan item-error): code "internal".
ItemError not_finite_error();

/// {"code","message","line","limit"?,"got"?}.
Json error_object(const Prompt& prompt, const ItemError& error);

}  // namespace octet
