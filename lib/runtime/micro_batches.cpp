// See micro_batches.h.
#include "runtime/micro_batches.h"

#include <algorithm>

#include "comm/share.h"

namespace octet {
namespace {

int64_t count_of(int64_t tokens, const CampaignOptions& campaign, int stages) {
  int64_t count = std::min(kMicroBatchesPerStage * stages, tokens);
  const auto keep_above = [&](bool on, int64_t threshold) {
    if (on && tokens >= threshold) count = std::min(count, tokens / threshold);
  };
  keep_above(campaign.ar_int8, campaign.ar_int8_min_tokens);
  keep_above(campaign.mhc_prenorm_shard, campaign.mhc_prenorm_shard_min_tokens);
  return count;
}

/// Rows [first, first + count) of the plan.
BatchPlan rows_of(const BatchPlan& plan, int64_t first, int64_t count) {
  BatchPlan part;
  int64_t row = 0;
  for (const PlanSegment& s : plan.segments) {
    const auto size = static_cast<int64_t>(s.tokens.size());
    const int64_t begin = std::max(first, row), end = std::min(first + count, row + size);
    if (begin < end) {
      const auto tokens = s.tokens.begin() - row;
      part.segments.push_back({s.slot, s.position + begin - row, {tokens + begin, tokens + end}, s.pages});
    }
    row += size;
  }
  for (const PlanSample& s : plan.samples) {
    if (s.row < first || s.row >= first + count) continue;
    part.samples.push_back(s);
    part.samples.back().row -= first;
  }
  return part;
}

}  // namespace

std::vector<BatchPlan> micro_batches(const BatchPlan& plan, const CampaignOptions& campaign, int stages) {
  if (stages == 1) return {plan};
  const int64_t tokens = plan.tokens(), count = count_of(tokens, campaign, stages);
  std::vector<BatchPlan> parts;
  for (int64_t i = 0; i < count; ++i) {
    const comm::Share share = comm::share_of(tokens, count, i);
    parts.push_back(rows_of(plan, share.first, share.count));
  }
  return parts;
}

}  // namespace octet
