// Start-up proof that this build, on these ranks, sums where it must and that the enabled paths compute what the plain
// ones do (--selfcheck). A merge can undo a type; these numbers cannot be talked round.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/mpi_session.h"
#include "layers/reduction_gate.h"
#include "model/batch.h"
#include "model/memory_plan.h"
#include "runtime/runner_impl.h"

namespace octet {

/// What the int8 codes of a share may be off by, at least: a block of 32 with largest value a has noise of at most
/// 32 (a / 254)^2 against a signal of at least a^2.
inline constexpr double kLeastSqnrDecibels = 33;
/// How far int8 sums may move the probe's logits: norm of the difference over the norm of the centred logits. Measured
/// 0.03 to 0.1; a wrong sum gives about 1.
inline constexpr double kMostInt8Shift = 0.5;

std::string gate_sentence(const GateFinding& finding, float own_share, int ranks);
std::string count_sentence(const Site& site, int64_t times, int64_t expected, bool is_int8);
/// Sampled signal to noise in dB; nothing without a sample that has both.
std::optional<double> sqnr_decibels(const SiteHealth& health);
double relative_shift(std::span<const float> plain, std::span<const float> other);
/// "campaign: int8 sums at 8 of 8 sites, steps of 2048 tokens or more; ..."; empty when every flag is off. Says so when
/// no step of the run, `largest_step` tokens at most, reaches a threshold.
std::string engagement_text(const CampaignOptions& campaign, const CampaignCounts& probe, int64_t layers, int ranks,
                            int64_t largest_step);
/// Error{kSelfCheck} for logits or codes beyond the bounds above, or, without int8, for any difference.
void check_probe(const CampaignOptions& campaign, std::span<const float> plain, std::span<const float> other,
                 const HealthBySite& health);

/// Collective. Runs before the first step; leaves tokens in slot 0 and its pages, which the caller clears.
template <class Ctx, class Act>
class SelfCheck {
 public:
  SelfCheck(Ctx& ctx, Model<Ctx, Act>& model, const ModelConfig& config, const RunnerCapacity& capacity)
      : ctx_(ctx), model_(model), config_(config), capacity_(capacity), wanted_(ctx.campaign) {}

  /// Error{kSelfCheck} on every rank when one finds a fault. `largest_step`: tokens, of the run. Returns the line for
  /// the log, empty when all flags are off.
  std::string prove(int64_t largest_step) {
    CampaignOptions flags = wanted_;  // the smallest steps take the paths, so that a short probe does
    flags.ar_int8_min_tokens = flags.mhc_prenorm_shard_min_tokens = 1;
    prove_sums({});
    if (flags.ar_int8) prove_sums(flags);
    const std::vector<float> plain = probe({});
    CampaignCounts counts;
    if (flags.ar_int8 || flags.mhc_post_sqrsum) {
      ctx_.health = {};
      const std::vector<float> other = probe(flags);
      counts = over_stages(ctx_.counts);
      session().funnel([&] { check_probe(flags, plain, other, ctx_.health); });
    }
    ctx_.campaign = wanted_;
    ctx_.counts = {};
    ctx_.health = {};
    ctx_.comm->forget();
    return engagement_text(wanted_, counts, config_.num_hidden_layers, comm::ranks(ctx_), largest_step);
  }

 private:
  comm::MpiSession& session() { return ctx_.comm->session(); }

  /// Counts of all stages' sites, for one pass: a site counts once however many micro-batches there were.
  CampaignCounts over_stages(const CampaignCounts& own) {
    if (ctx_.comm->stages() == 1) return own;
    const double mine = comm::rank(ctx_) == 0 ? 1 : 0;
    const std::vector<double> all = session().all_gather(
        std::array{mine * static_cast<double>(own.sums), mine * static_cast<double>(own.int8_sums),
                   mine * static_cast<double>(own.folded_posts), mine * static_cast<double>(own.shared_mixes)});
    double sum[4] = {};
    for (size_t i = 0; i < all.size(); ++i) sum[i % 4] += all[i];
    const double passes = sum[0] / static_cast<double>(2 * config_.num_hidden_layers);
    const auto per_pass = [&](double count) { return static_cast<int64_t>(std::lround(count / passes)); };
    return {per_pass(sum[0]), per_pass(sum[1]), per_pass(sum[2]), per_pass(sum[3])};
  }

  /// The gate at every site of this stage, in the form that `campaign` gives.
  void prove_sums(const CampaignOptions& campaign) {
    ctx_.campaign = campaign;
    std::optional<Error> failure;  // stages have different layers: what a rank finds is shared at the end
    for (const Site& site : own_sites()) {
      const auto finding = check_sum_of_powers<Ctx, Act>(ctx_, config_.hidden_size, site);
      if (finding && !failure) {
        const float own = std::ldexp(finding->is_int8 ? int8::kTopCode : 1, comm::rank(ctx_));
        failure = Error(Code::kSelfCheck, gate_sentence(*finding, own, comm::ranks(ctx_)));
      }
    }
    session().share_failure(failure);
  }

  std::vector<Site> own_sites() const {
    std::vector<Site> sites;
    for (int64_t l = model_.stage().first_layer; l < model_.stage().end_layer(); ++l) {
      sites.push_back({l, Site::Kind::kAttn});
      sites.push_back({l, Site::Kind::kFfn});
    }
    return sites;
  }

  /// One prompt through the model, every site counted, every sum compared across the ranks: its last logits on rank 0.
  std::vector<float> probe(const CampaignOptions& campaign) {
    ctx_.campaign = campaign;
    ctx_.counts = {};
    ctx_.comm->forget();
    const BatchPlan plan = probe_plan();
    const bool has_logits = session().rank() == 0 || (model_.stage().is_last && comm::rank(ctx_) == 0);
    std::vector<float> logits(has_logits ? static_cast<size_t>(config_.vocab_size) : 0);
    ctx_.audit_replicas = true;
    model_.forward(ctx_, plan, {logits.data(), logits.empty() ? 0 : 1, config_.vocab_size}, {});
    ctx_.audit_replicas = false;
    std::optional<Error> failure;
    const auto parts = static_cast<int64_t>(micro_batches(plan, campaign, comm::stages(ctx_)).size());
    if (const auto site = check_reduction_count(ctx_, own_sites(), parts)) {
      failure = Error(Code::kSelfCheck, count_sentence(*site, ctx_.comm->reductions_at(*site), parts,
                                                       step_features(ctx_, plan.tokens()).int8_sums));
    }
    session().share_failure(failure);
    return logits;
  }

  BatchPlan probe_plan() const {
    constexpr int64_t kStride = 37;  // token ids all over the vocabulary, hence over the ranks' shares of it
    BatchPlan plan;
    PlanSegment segment;
    const int64_t tokens = std::min(kProbeTokens, capacity_.max_seq_len);
    for (int64_t t = 0; t < tokens; ++t) {
      segment.tokens.push_back(static_cast<TokenId>((t * kStride + 1) % config_.vocab_size));
    }
    segment.pages = {0};
    plan.segments.push_back(segment);
    plan.samples.push_back({tokens - 1, false, {}});
    return plan;
  }

  Ctx& ctx_;
  Model<Ctx, Act>& model_;
  const ModelConfig& config_;
  const RunnerCapacity& capacity_;
  CampaignOptions wanted_;
};

}  // namespace octet
