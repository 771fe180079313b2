// Sentences and bounds of the self-check.
#include "runtime/self_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/log.h"

namespace octet {

std::string gate_sentence(const GateFinding& finding, float own_share, int ranks) {
  const char* form = finding.is_int8 ? "int8" : "rows";
  std::string what = "the reduction is wrong there";
  if (finding.found == own_share) what = "the reduction is missing there";
  if (finding.found == static_cast<float>(ranks) * finding.expected) what = "the reduction is done twice there";
  return fmt::format("self-check: the sum at {} ({}) of the powers of two of {} ranks is {}, expected {}: {}",
                     site_text(finding.site), form, ranks, finding.found, finding.expected, what);
}

std::string count_sentence(const Site& site, int64_t times, int64_t expected, bool is_int8) {
  return fmt::format(
      "self-check: {} ({}) was reduced {} times in {} passes, expected once each: a sub-layer's sum is {}",
      site_text(site), is_int8 ? "int8" : "rows", times, expected, times < expected ? "missing" : "done again");
}

std::optional<double> sqnr_decibels(const SiteHealth& health) {
  if (health.signal <= 0 || health.noise <= 0) return std::nullopt;
  return 10 * std::log10(health.signal / health.noise);
}

double relative_shift(std::span<const float> plain, std::span<const float> other) {
  const double mean = std::accumulate(plain.begin(), plain.end(), 0.0) / static_cast<double>(plain.size());
  double off = 0, size = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double d = static_cast<double>(other[i]) - static_cast<double>(plain[i]);
    const double centred = static_cast<double>(plain[i]) - mean;
    off += d * d;
    size += centred * centred;
  }
  return off == 0 ? 0 : std::sqrt(off / size);
}

std::string engagement_text(const CampaignOptions& campaign, const CampaignCounts& probe, int64_t layers, int ranks,
                            int64_t largest_step) {
  if (!campaign.ar_int8 && !campaign.mhc_post_sqrsum) return "";
  std::string text;
  const auto add = [&](std::string_view what, int64_t sites, std::string_view from) {
    text += fmt::format("{}{} at {} of {} sites{}", text.empty() ? "campaign: " : "; ", what, sites, 2 * layers, from);
  };
  const auto from = [largest_step](int64_t tokens) {
    return fmt::format(
        ", steps of {} tokens or more{}", tokens,
        tokens > largest_step ? fmt::format(" (NONE: no step of this run has more than {})", largest_step) : "");
  };
  if (campaign.ar_int8) add("int8 sums", probe.int8_sums, from(campaign.ar_int8_min_tokens));
  if (campaign.mhc_post_sqrsum) add("folded posts", probe.folded_posts, "");
  if (campaign.mhc_prenorm_shard) add("shared mixes", probe.shared_mixes, from(campaign.mhc_prenorm_shard_min_tokens));
  if (ranks == 1) text += "; one rank has nobody to sum or share with";
  return text;
}

void check_probe(const CampaignOptions& campaign, std::span<const float> plain, std::span<const float> other,
                 const HealthBySite& health) {
  for (size_t i = 0; i < health.all().size(); ++i) {
    const auto decibels = sqnr_decibels(health.all()[i]);
    if (!decibels || *decibels >= kLeastSqnrDecibels) continue;
    throw Error(Code::kSelfCheck, fmt::format("self-check: the int8 codes at {} have a signal to noise of {:.1f} dB, "
                                              "expected at least {}",
                                              site_text(site_at(i)), *decibels, kLeastSqnrDecibels));
  }
  if (plain.empty()) return;  // logits are on rank 0
  const double shift = relative_shift(plain, other);
  const double most = campaign.ar_int8 ? kMostInt8Shift : 0;
  if (!(shift <= most)) {
    throw Error(Code::kSelfCheck, fmt::format("self-check: the campaign's paths move the logits of the probe by {:.3g} "
                                              "of their size, at most {} is expected",
                                              shift, most));
  }
  log::debug("self-check: the campaign's paths move the logits of the probe by {:.3g} of their size", shift);
}

}  // namespace octet
