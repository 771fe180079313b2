// Byte counts travel as doubles: exact below 2^53.
#include "engine/rank_report.h"

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace octet {
namespace {

constexpr size_t kFields = 9;

std::array<double, kFields> packed(const RankReport& r) {
  return {r.runner.load_seconds,
          r.runner.step_seconds,
          r.runner.reduce_seconds,
          r.runner.sample_seconds,
          static_cast<double>(r.runner.weight_bytes),
          static_cast<double>(r.runner.cache_bytes),
          static_cast<double>(r.runner.scratch_bytes),
          static_cast<double>(r.runner.load_bytes),
          static_cast<double>(r.peak_rss_bytes)};
}

RankReport unpacked(const double* f) {
  const auto bytes = [f](size_t i) { return static_cast<int64_t>(f[i]); };
  return {.runner = {.load_seconds = f[0],
                     .step_seconds = f[1],
                     .reduce_seconds = f[2],
                     .sample_seconds = f[3],
                     .weight_bytes = bytes(4),
                     .cache_bytes = bytes(5),
                     .scratch_bytes = bytes(6),
                     .load_bytes = bytes(7)},
          .peak_rss_bytes = bytes(8)};
}

int64_t peak_rss_bytes() {
  constexpr int64_t kKib = 1024;  // Linux counts ru_maxrss in KiB
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKib;
}

/// A rank's counts and its sites, as they lie in memory: all ranks run the same program.
std::string bytes_of(const RunnerReport& own) {
  const std::vector<SiteHealth>& sites = own.health.all();
  std::string bytes(sizeof own.campaign + sites.size() * sizeof(SiteHealth), '\0');
  std::memcpy(bytes.data(), &own.campaign, sizeof own.campaign);
  if (!sites.empty()) std::memcpy(bytes.data() + sizeof own.campaign, sites.data(), sites.size() * sizeof(SiteHealth));
  return bytes;
}

/// Ranks of a stage count the same; stages have different layers. The first rank of each, together, in every report.
void merge_campaign(std::vector<RankReport>& reports, const RunnerReport& own, comm::MpiSession& session) {
  const std::vector<std::string> all = session.gather_texts(own.stage_rank == 0 ? bytes_of(own) : "");
  CampaignCounts counts;
  HealthBySite health;
  for (const std::string& bytes : all) {
    if (bytes.empty()) continue;
    CampaignCounts part;
    std::memcpy(&part, bytes.data(), sizeof part);
    counts += part;
    for (size_t i = 0; sizeof part + (i + 1) * sizeof(SiteHealth) <= bytes.size(); ++i) {
      SiteHealth site;
      std::memcpy(&site, bytes.data() + sizeof part + i * sizeof site, sizeof site);
      if (site.sums > 0) health.at(site_at(i)) = site;
    }
  }
  for (RankReport& report : reports) {
    report.runner.campaign = counts;
    report.runner.health = health;
  }
}

}  // namespace

std::vector<RankReport> gather_reports(const RunnerReport& own, comm::MpiSession& session) {
  const std::vector<double> all = session.all_gather(packed({own, peak_rss_bytes()}));
  std::vector<RankReport> reports;
  for (size_t i = 0; i + kFields <= all.size(); i += kFields) reports.push_back(unpacked(all.data() + i));
  merge_campaign(reports, own, session);
  return reports;
}

}  // namespace octet
