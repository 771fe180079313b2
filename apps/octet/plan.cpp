// `octet plan`: the memory that a run needs, from headers alone. One process, no MPI, no device.
#include "plan.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "commands.h"
#include "model/checkpoint.h"
#include "model/plan_text.h"

namespace octet {

PlanSource plan_source(const std::string& model_dir) {
  if (std::filesystem::is_directory(model_dir) && !std::filesystem::exists(model_dir + "/" + kIndexName)) {
    return {read_model_config(model_dir + "/config.json"),
            fmt::format("config.json alone (there is no {})", kIndexName)};
  }
  const Checkpoint checkpoint = open_checkpoint(model_dir);
  return {checkpoint.config, fmt::format("the headers of {} files", checkpoint.files.size())};
}

MemoryPlan plan_of_run(const MemoryPlanner& planner, const RunOptions& run) {
  const int64_t limit = planner.config().max_position_embeddings;
  const int64_t context = run.max_seq_len.value_or(limit);
  if (context > limit) {
    throw Error(Code::kUsage, fmt::format("--max-seq-len {}: the model's limit is {} positions", context, limit));
  }
  return planner.plan(run.max_batch, context, run.prefill_chunk);
}

int64_t bytes_of_gib(double gib) {
  return static_cast<int64_t>(gib * 0x1p30);
}

int run_plan(const Options& options) {
  const PlanSource source = plan_source(options.run.model);
  const MemoryPlanner planner(source.config, static_cast<int>(options.plan.ranks),
                              options.run.numerics.value_or(Numerics::kOfficial), options.run.campaign,
                              static_cast<int>(options.run.pp));
  const MemoryPlan plan = plan_of_run(planner, options.run);
  const int64_t card = bytes_of_gib(options.plan.card_gib);
  const PlanAdvice advice = advise(planner, plan, card);
  const std::string text = options.plan.json ? plan_json(plan, advice, card, source.text).dump() + "\n"
                                             : plan_text(plan, advice, card, source.text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(Code::kEnvironment, "cannot write to standard output");
  }
  return advice.fits ? 0 : static_cast<int>(Code::kMemory);
}

}  // namespace octet
