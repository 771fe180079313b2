// What generate and score have before the weights are loaded: config, tokenizer, prompts, and the requests made of
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "comm/mpi_session.h"
#include "engine/requests.h"
#include "engine/sequence.h"
#include "io/prompts.h"
#include "model/config.h"
#include "options/options.h"
#include "runtime/runner.h"
#include "text/tokenizer.h"

namespace octet {

/// Equal on every rank.
struct RunInputs {
  ModelConfig config;
  std::unique_ptr<const Tokenizer> tokenizer;  ///< null: the model folder has none
  std::vector<Prompt> prompts;
  RequestLimits limits;
};

/// Collective: rank 0 reads the input and shares its text; the model's small files every rank reads itself.
/// Errors: Error{kCheckpoint} (config.json, tokenizer.json), Error{kInput} (unreadable, or no line in it),
/// Error{kUsage} (rank count, --max-seq-len beyond the model).
RunInputs open_inputs(const RunOptions& run, const std::string& input, PromptForm form, comm::MpiSession& session);

/// The prompts that can run, and the others' places with their errors.
struct SortedPrompts {
  std::vector<Request> requests;
  std::vector<std::pair<int64_t, ItemError>> errors;
};

using RequestMaker = std::function<std::variant<Request, ItemError>(const Prompt&, int64_t index)>;
SortedPrompts sort_prompts(const std::vector<Prompt>& prompts, const RequestMaker& make);

/// Slots and pages for `max_batch` of these requests at a time, whichever they are.
RunnerCapacity capacity_for(const std::vector<Request>& requests, const RunOptions& run, int64_t max_seq_len);

/// Collective: the backend's runner, loaded.
std::unique_ptr<Runner> make_runner(const RunnerSetup& setup);

}  // namespace octet
