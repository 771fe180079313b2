// What the campaign's paths did in a run, for the summary and its table.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "options/campaign_counts.h"

namespace octet {

/// {"sums","int8_sums","folded_posts","shared_mixes","sites":[{"layer","site","int8_sums","blocks","zero_blocks",
/// "broken_blocks","sampled_values","clipped_values","sqnr_db"}]}; sites only where a sum was int8. Blocks are of the
/// sums; the sample is the first row of rank 0's own shares. sqnr_db is null where nothing was off.
Json campaign_json(const CampaignCounts& counts, const HealthBySite& health);

/// Lines for people: none when every sum was plain and nothing was folded.
std::vector<std::string> campaign_lines(const CampaignCounts& counts, const HealthBySite& health);

}  // namespace octet
