// What generate and score have before the weights are loaded: config, tokenizer, prompts, and the requests made of
// them. generate reads its lines through an item index; score, whose files are small, holds them.
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

/// The small files of a model. Equal on every rank.
struct ModelFiles {
  ModelConfig config;
  std::unique_ptr<const Tokenizer> tokenizer;  ///< null: the model folder has none
  RequestLimits limits;
};

/// Collective: every rank reads the files itself. Error{kCheckpoint} (config.json, tokenizer.json), Error{kUsage} (rank
/// count, --max-seq-len beyond the model).
ModelFiles open_model_files(const RunOptions& run, comm::MpiSession& session);

/// Equal on every rank.
struct RunInputs {
  ModelFiles model;
  std::vector<Prompt> prompts;
};

/// Collective: rank 0 reads the input and shares its text. Errors: as open_model_files, Error{kInput} (unreadable, or
/// no line in it).
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
