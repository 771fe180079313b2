// The memory plan of a model folder, whole or not yet downloaded.
#pragma once

#include <string>

#include "model/memory_plan.h"
#include "options/options.h"

namespace octet {

/// Where the sizes of a plan come from.
struct PlanSource {
  ModelConfig config;
  std::string text;  ///< "the headers of 46 files", "config.json alone (no model.safetensors.index.json)"
};

/// Reads the headers of the shards, or, when there is no index, config.json alone. Errors: those of open_checkpoint.
PlanSource plan_source(const std::string& model_dir);

/// The plan of a run with these options on `ranks` ranks. Error{kUsage} for a --max-seq-len beyond the model's limit or
/// a rank count that does not divide it.
MemoryPlan plan_of_run(const MemoryPlanner& planner, const RunOptions& run);

/// 80 GiB as bytes.
int64_t bytes_of_gib(double gib);

}  // namespace octet
