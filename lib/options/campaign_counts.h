// What the campaign's paths did in a run: plain figures, from the layers to the summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "options/test_fault.h"

namespace octet {

/// How often each path was taken in all steps so far: what really ran, not what was asked for. Equal on every rank.
struct CampaignCounts {
  int64_t sums = 0;          ///< of sub-layers' outputs, two a layer and step
  int64_t int8_sums = 0;     ///< of these, as int8 codes
  int64_t folded_posts = 0;  ///< posts that yielded the sums of squares
  int64_t shared_mixes = 0;  ///< mixes whose rows the ranks shared
  bool operator==(const CampaignCounts&) const = default;
  CampaignCounts& operator+=(const CampaignCounts& other) {
    sums += other.sums;
    int8_sums += other.int8_sums;
    folded_posts += other.folded_posts;
    shared_mixes += other.shared_mixes;
    return *this;
  }
};

/// The int8 sums at one site. Blocks are of the sum, equal on every rank; the sample is of this rank's own share.
struct SiteHealth {
  int64_t sums = 0;
  int64_t blocks = 0;
  int64_t zero_blocks = 0;    ///< scale 0
  int64_t broken_blocks = 0;  ///< scale NaN: a NaN or an infinity went in
  int64_t sampled = 0;        ///< values of the sample: the first row of each sum
  int64_t clipped = 0;        ///< of these, beyond what the top code stands for by more than half a step
  double signal = 0;          ///< sum of their squares
  double noise = 0;           ///< sum of the squares of what their codes are off by
};

/// By site, in the order of site_index.
class HealthBySite {
 public:
  SiteHealth& at(const Site& site) {
    const size_t index = site_index(site);
    if (index >= sites_.size()) sites_.resize(index + 1);
    return sites_[index];
  }
  const std::vector<SiteHealth>& all() const { return sites_; }

 private:
  std::vector<SiteHealth> sites_;
};

}  // namespace octet
