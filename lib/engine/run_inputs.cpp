// Whatever can fail on one rank alone goes through the session's funnel, so that all ranks end together.
#include "engine/run_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "model/stage.h"

namespace octet {
namespace {

int64_t max_seq_len_of(const RunOptions& run, const ModelConfig& config) {
  const int64_t limit = config.max_position_embeddings;
  const int64_t asked = run.max_seq_len.value_or(limit);
  if (asked > limit) {
    throw Error(Code::kUsage, fmt::format("--max-seq-len {}: the model's limit is {} positions", asked, limit));
  }
  return asked;
}

}  // namespace

ModelFiles open_model_files(const RunOptions& run, comm::MpiSession& session) {
  ModelFiles files;
  session.funnel([&] {
    files.config = read_model_config(run.model + "/config.json");
    check_stages(files.config, session.size(), static_cast<int>(run.pp));
    files.limits = {.vocab_size = files.config.vocab_size,
                    .max_seq_len = max_seq_len_of(run, files.config),
                    .bos = static_cast<TokenId>(files.config.bos_token_id)};
    if (std::filesystem::exists(run.model + "/tokenizer.json")) {
      files.tokenizer = std::make_unique<const Tokenizer>(Tokenizer::from_dir(run.model));
      files.limits.tokenizer = files.tokenizer.get();
    }
  });
  return files;
}

RunInputs open_inputs(const RunOptions& run, const std::string& input, PromptForm form, comm::MpiSession& session) {
  RunInputs in{.model = open_model_files(run, session), .prompts = {}};
  std::string text;
  session.funnel([&] {
    if (session.rank() == 0) text = read_input(input);
  });
  session.broadcast(text);
  session.funnel([&] {
    in.prompts = parse_prompts(text, form);
    if (in.prompts.empty()) throw Error(Code::kInput, fmt::format("the input {} has no line", input));
  });
  return in;
}

SortedPrompts sort_prompts(const std::vector<Prompt>& prompts, const RequestMaker& make) {
  SortedPrompts sorted;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    if (prompts[i].error) {
      sorted.errors.emplace_back(index, *prompts[i].error);
      continue;
    }
    std::variant<Request, ItemError> made = make(prompts[i], index);
    if (ItemError* error = std::get_if<ItemError>(&made)) {
      sorted.errors.emplace_back(index, std::move(*error));
    } else {
      sorted.requests.push_back(std::get<Request>(std::move(made)));
    }
  }
  return sorted;
}

RunnerCapacity capacity_for(const std::vector<Request>& requests, const RunOptions& run, int64_t max_seq_len) {
  const int64_t slots = std::min(run.max_batch, static_cast<int64_t>(requests.size()));
  return {.slots = slots, .pages = pages_wanted(requests, slots), .max_seq_len = max_seq_len};
}

std::unique_ptr<Runner> make_runner(const RunnerSetup& setup) {
  return setup.run.backend == Backend::kCuda ? make_cuda_runner(setup) : make_cpu_runner(setup);
}

}  // namespace octet
