// Which of the campaign's paths a step takes: a function of its token count and the flags alone, so that all ranks
// agree without a word, and warm-up data can never decide.
#pragma once

#include <cstdint>

#include "comm/collectives.h"
#include "options/options.h"

namespace octet {

struct StepFeatures {
  bool int8_sums = false;     ///< the sub-layers' sums are int8 codes
  bool folded_posts = false;  ///< hc_post yields the sum of squares of the mix that follows
  bool shared_mixes = false;  ///< ranks share the rows of the mix
};

/// Thresholds are inclusive. One rank has nobody to sum or share with: int8 and sharing are inert there.
template <class Ctx>
StepFeatures step_features(const Ctx& ctx, int64_t tokens) {
  const CampaignOptions& c = ctx.campaign;
  const bool several = comm::ranks(ctx) > 1;
  return {
      .int8_sums = several && c.ar_int8 && tokens >= c.ar_int8_min_tokens,
      .folded_posts = c.mhc_post_sqrsum,
      .shared_mixes = several && c.mhc_post_sqrsum && c.mhc_prenorm_shard && tokens >= c.mhc_prenorm_shard_min_tokens};
}

}  // namespace octet
