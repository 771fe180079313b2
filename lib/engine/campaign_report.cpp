// See campaign_report.h.
#include "engine/campaign_report.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>

namespace octet {
namespace {

std::optional<double> decibels(const SiteHealth& h) {
  if (h.signal <= 0 || h.noise <= 0) return std::nullopt;
  return 10 * std::log10(h.signal / h.noise);
}

Json site_object(size_t index, const SiteHealth& h) {
  const auto sqnr = decibels(h);
  return Json::object({{"layer", site_at(index).layer},
                       {"site", site_at(index).kind == Site::Kind::kAttn ? "attn" : "ffn"},
                       {"int8_sums", h.sums},
                       {"blocks", h.blocks},
                       {"zero_blocks", h.zero_blocks},
                       {"broken_blocks", h.broken_blocks},
                       {"sampled_values", h.sampled},
                       {"clipped_values", h.clipped},
                       {"sqnr_db", sqnr ? Json(std::round(*sqnr * 100) / 100) : Json()}});
}

/// The sites' figures together, and where the codes are worst.
struct Overall {
  int64_t blocks = 0, zero = 0, broken = 0, clipped = 0;
  std::optional<double> least;
  size_t worst = 0;
};

Overall overall(const HealthBySite& health) {
  Overall all;
  for (size_t i = 0; i < health.all().size(); ++i) {
    const SiteHealth& h = health.all()[i];
    all.blocks += h.blocks;
    all.zero += h.zero_blocks;
    all.broken += h.broken_blocks;
    all.clipped += h.clipped;
    const auto sqnr = decibels(h);
    if (!sqnr || (all.least && *sqnr >= *all.least)) continue;
    all.least = sqnr;
    all.worst = i;
  }
  return all;
}

}  // namespace

Json campaign_json(const CampaignCounts& counts, const HealthBySite& health) {
  Json sites = Json::array();
  for (size_t i = 0; i < health.all().size(); ++i) {
    if (health.all()[i].sums > 0) sites.push(site_object(i, health.all()[i]));
  }
  return Json::object({{"sums", counts.sums},
                       {"int8_sums", counts.int8_sums},
                       {"folded_posts", counts.folded_posts},
                       {"shared_mixes", counts.shared_mixes},
                       {"sites", std::move(sites)}});
}

std::vector<std::string> campaign_lines(const CampaignCounts& counts, const HealthBySite& health) {
  std::vector<std::string> lines;
  if (counts.int8_sums > 0) {
    const Overall all = overall(health);
    lines.push_back(fmt::format("int8 sums    {} of {}{}", counts.int8_sums, counts.sums,
                                all.least ? fmt::format(", at least {:.1f} dB of signal to noise ({})", *all.least,
                                                        site_text(site_at(all.worst)))
                                          : ""));
    lines.push_back(fmt::format("int8 blocks  {}, of them {} zero, {} with NaN or infinity; {} clipped values",
                                all.blocks, all.zero, all.broken, all.clipped));
  }
  if (counts.folded_posts > 0) {
    lines.push_back(fmt::format("mixes        {} of {} from folded posts, {} shared by the ranks", counts.folded_posts,
                                counts.sums, counts.shared_mixes));
  }
  return lines;
}

}  // namespace octet
