// What a run may ask for together, and what auto means.
#include <fmt/core.h>

#include <charconv>
#include <limits>

#include "base/error.h"
#include "options/option_words.h"
#include "options/resolve.h"

namespace octet {
namespace {

std::string_view word_of(Transport transport) {
  for (const auto& [word, value] : enum_words(Transport{})) {
    if (value == transport) return word;
  }
  return "?";
}

void check_graph_cap(std::string_view flag, std::string_view threshold_flag, int64_t threshold, int64_t graph_cap) {
  if (graph_cap < threshold) return;
  throw Error(Code::kUsage,
              fmt::format("{}: a step of {} tokens may run as a captured graph (--graph-cap) and must not hold this "
                          "collective: {} is {} and must be above the cap, or --graph-cap 0 keeps all steps eager",
                          flag, graph_cap, threshold_flag, threshold));
}

}  // namespace

void check_campaign(const CampaignOptions& campaign, int64_t graph_cap) {
  if (campaign.mhc_prenorm_shard && !campaign.mhc_post_sqrsum) {
    throw Error(Code::kUsage,
                "--mhc-prenorm-shard needs --mhc-post-sqrsum: without the folded sum of squares every rank still "
                "reads all rows, and sharing the mix would do nothing");
  }
  if (campaign.ar_int8) check_graph_cap("--ar-int8", "--ar-int8-min-tokens", campaign.ar_int8_min_tokens, graph_cap);
  if (campaign.mhc_prenorm_shard) {
    check_graph_cap("--mhc-prenorm-shard", "--mhc-prenorm-shard-min-tokens", campaign.mhc_prenorm_shard_min_tokens,
                    graph_cap);
  }
}

int64_t verified_steps(const RunOptions& run) {
  constexpr std::string_view kReplicas = "replicas";
  const std::string_view text = run.verify;
  if (text.empty()) return 0;
  if (text == kReplicas) return std::numeric_limits<int64_t>::max();
  int64_t steps = 0;
  if (text.starts_with(kReplicas) && text[kReplicas.size()] == '=') {
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + kReplicas.size() + 1, end, steps);
    if (status == std::errc() && stop == end && steps >= 1) return steps;
  }
  throw Error(Code::kUsage,
              fmt::format("--verify expects replicas or replicas=N with N of at least 1, found '{}'", text));
}

void resolve_run(RunOptions& run, const BuildFacts& build) {
  const bool wants_cuda = run.backend == Backend::kCuda;
  const bool is_cpu = run.backend == Backend::kCpu || !build.cuda;
  if (!build.cuda && (wants_cuda || run.transport == Transport::kNccl)) {
    throw Error(Code::kEnvironment, fmt::format("{} is not available: this octet was built without CUDA",
                                                wants_cuda ? "--backend cuda" : "--transport nccl"));
  }
  if (is_cpu && run.transport == Transport::kNccl) {
    throw Error(Code::kUsage, fmt::format("--transport {} carries GPU memory; --backend cpu needs mpi, ipc or auto",
                                          word_of(run.transport)));
  }
  if (run.backend == Backend::kAuto) run.backend = build.cuda ? Backend::kCuda : Backend::kCpu;
  if (!run.numerics) run.numerics = Numerics::kOfficial;
  check_campaign(run.campaign, run.graph_cap);
  verified_steps(run);
}

}  // namespace octet
