// A step cut into micro-batches, so that the stages of a pipeline work at the same time.
#pragma once

#include <vector>

#include "model/batch.h"
#include "options/options.h"

namespace octet {

/// Micro-batches for each stage: more hide the pipeline's filling and draining better, but make smaller products.
inline constexpr int64_t kMicroBatchesPerStage = 2;

/// The plan in parts of consecutive rows, equally large up to one row; a segment may be cut. Rows and samples of a part
/// count from its own first row; forks are left out, for they come before all rows. With one stage: the plan itself.
/// No part falls below a threshold of the campaign that the step reaches, so a sum has the same form as without stages.
std::vector<BatchPlan> micro_batches(const BatchPlan& plan, const CampaignOptions& campaign, int stages);

}  // namespace octet
