// The CPU backend: loads this rank's tensors into host memory and instantiates the layers for cpu::Context.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "comm/mpi_session.h"
#include "comm/peer_memory.h"
#include "comm/watchdog.h"
#include "kernels/cpu/context.h"
#include "model/checkpoint.h"
#include "model/memory_plan.h"
#include "options/resolve.h"
#include "runtime/runner_impl.h"
#include "runtime/self_check.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Act>
class CpuRunner final : public Runner {
 public:
  explicit CpuRunner(const RunnerSetup& setup, Numerics numerics)
      : config_(setup.config),
        capacity_(setup.capacity),
        tap_(setup.tap),
        graph_cap_(setup.run.graph_cap),
        prefill_chunk_(setup.run.prefill_chunk),
        transport_(setup.run.transport),
        timeout_(setup.run.timeout),
        on_nan_(setup.run.on_nan),
        verified_steps_(verified_steps(setup.run)),
        comm_(*setup.session, static_cast<int>(setup.run.pp)),
        stage_(stage_of(setup.config, comm_.stages(), comm_.stage())) {
    ctx_.numerics = numerics;
    ctx_.comm = &comm_;
    ctx_.campaign = setup.run.campaign;
    ctx_.fault = test_fault_from_environment();
    const auto start = Clock::now();
    setup.session->funnel([&] { load(setup); });
    report_.load_seconds = since(start);
    setup.session->watch(setup.run.timeout, comm_.stage());
    map_peer_memory();
    if (setup.run.selfcheck) prove();
  }

  std::span<const TokenId> step(const BatchPlan& plan) override {
    const comm::Watchdog::Armed armed(comm_.session().watchdog(), comm::Watchdog::Span::kStep);
    const auto start = Clock::now();
    const double reduce_before = comm_.seconds();
    check_plan(plan, config_, capacity_);
    ctx_.audit_replicas = steps_++ < verified_steps_;
    const auto samples = static_cast<int64_t>(plan.samples.size());
    const bool has_logits = is_root() || (stage_.is_last && comm_.rank() == 0);
    logits_.resize(has_logits ? static_cast<size_t>(samples * config_.vocab_size) : 0);
    model_->forward(ctx_, plan, logits_view(has_logits ? samples : 0), tap_);
    if (!is_root()) logits_.clear();
    report_.reduce_seconds += comm_.seconds() - reduce_before;
    const auto drawn = Clock::now();
    draw(plan);
    report_.sample_seconds += since(drawn);
    report_.step_seconds += since(start);
    return tokens_;
  }

  Mat<const float> logits() const override {
    return {logits_.data(), static_cast<int64_t>(logits_.size()) / config_.vocab_size, config_.vocab_size};
  }
  void use(const CampaignOptions& campaign, const std::optional<TestFault>& fault) override {
    check_campaign(campaign, graph_cap_);
    ctx_.campaign = campaign;
    ctx_.fault = fault;
    map_peer_memory();
  }
  std::string check() override {
    const CampaignOptions campaign = ctx_.campaign;
    const CampaignCounts counts = ctx_.counts;
    std::string sentence;
    try {
      SelfCheck<cpu::Context, Act>(ctx_, *model_, config_, capacity_).prove(most_tokens());
    } catch (const Error& e) {
      if (e.code() != Code::kSelfCheck) throw;
      sentence = e.what();
    }
    ctx_.campaign = campaign;
    ctx_.counts = counts;
    poison_cache();
    return sentence;
  }
  RunnerCapacity capacity() const override { return capacity_; }
  RunnerReport report() const override {
    RunnerReport report = report_;
    report.campaign = ctx_.counts;
    report.health = ctx_.health;
    report.exchange_bytes = comm_.peers() == nullptr ? 0 : comm_.peers()->bytes();
    report.stage = comm_.stage();
    report.stage_rank = comm_.rank();
    report.scratch_bytes = ctx_.scratch.capacity_bytes();
    return report;
  }

 private:
  /// Rank 0 of the run: it alone draws.
  bool is_root() const { return comm_.session().rank() == 0; }
  Mat<float> logits_view(int64_t samples) { return {logits_.data(), samples, config_.vocab_size}; }

  void load(const RunnerSetup& setup) {
    const Checkpoint checkpoint = open_checkpoint(setup.model_dir);
    tensors_ = load_local(checkpoint, stage_, comm_.rank(), comm_.size(), [](const LoadProgress& p) {
      log::info("loading: {:.1f} of {:.1f} MiB, {:.2f} GiB/s", static_cast<double>(p.bytes_done) * 0x1p-20,
                static_cast<double>(p.bytes_total) * 0x1p-20, p.gib_per_second());
    });
    report_.load_bytes = tensors_.bytes_read();
    report_.weight_bytes = tensors_.bytes_held();
    KvCache cache(config_, stage_,
                  {ops::kv_row_bytes<Act>(config_.head_dim, config_.qk_rope_head_dim),
                   ops::index_row_bytes<Act>(config_.index_head_dim)},
                  capacity_.slots, capacity_.pages);
    report_.cache_bytes = cache.bytes();
    cache_memory_.resize(static_cast<size_t>(cache.bytes()));
    poison_cache();
    cache.bind(cache_memory_.data());
    model_ = std::make_unique<Model<cpu::Context, Act>>(config_, stage_, bind_weights(config_, stage_, tensors_),
                                                        std::move(cache));
  }

  /// Of the largest step.
  int64_t most_tokens() const { return largest_step(prefill_chunk_, capacity_.slots, capacity_.max_seq_len); }

  /// Exchange memory for the largest step, before the first that needs it.
  void map_peer_memory() {
    const bool wanted = ctx_.campaign.ar_int8 && transport_ != Transport::kMpi;
    if (comm_.size() == 1 || (!wanted && transport_ != Transport::kIpc)) return;
    const int64_t tokens = std::max(most_tokens(), kProbeTokens);
    const bool mapped = comm_.map_peer_memory(tokens * config_.hidden_size / int8::kBlock, timeout_);
    if (!mapped && transport_ == Transport::kIpc) {
      throw Error(Code::kEnvironment,
                  "--transport ipc needs all ranks of a stage on one host, and room in its /dev/shm");
    }
    if (is_root()) log::debug("int8 sums go {}", mapped ? "through the memory of the peers" : "by messages");
  }

  /// 0xff bytes are NaN in every row format that is kept as floats: a row read before it was written shows.
  void poison_cache() { std::fill(cache_memory_.begin(), cache_memory_.end(), std::byte{0xff}); }

  void prove() {
    const comm::Watchdog::Armed armed(comm_.session().watchdog(), comm::Watchdog::Span::kLoop);
    const auto start = Clock::now();
    const std::string engaged = SelfCheck<cpu::Context, Act>(ctx_, *model_, config_, capacity_).prove(most_tokens());
    poison_cache();
    if (!is_root()) return;
    if (!engaged.empty()) log::info("{}", engaged);
    log::debug("self-check: passed in {:.2f} s", since(start));
  }

  /// A NaN or an infinity in the logits means that weights, config or arithmetic are wrong: no token follows from it.
  /// False for such a row if the run goes on without its line.
  bool check_logits(int64_t i, const PlanSample& sample) const {
    const Vec<const float> row = logits()[i];
    if (std::all_of(row.begin(), row.end(), [](float logit) { return std::isfinite(logit); })) return true;
    if (on_nan_ == OnNan::kItemError) return false;
    throw Error(Code::kSelfCheck, fmt::format("the logits of row {} of a step are not finite: the checkpoint or its "
                                              "config is wrong; --on-nan item-error fails only the lines concerned",
                                              sample.row));
  }

  /// A copy: logits() stay raw, for log-probabilities are taken from them.
  Mat<const float> penalised(Mat<const float> row, const PlanSample& sample) {
    penalised_.assign(row[0].begin(), row[0].end());
    ops::apply_penalties(ctx_, {penalised_.data(), config_.vocab_size}, sample.counts, sample.params);
    return {penalised_.data(), 1, config_.vocab_size};
  }

  void draw(const BatchPlan& plan) {
    const auto scope = ctx_.scratch_scope();
    tokens_.assign(plan.samples.size(), -1);
    if (is_root()) {
      for (size_t i = 0; i < plan.samples.size(); ++i) {
        const PlanSample& sample = plan.samples[i];
        if (!check_logits(static_cast<int64_t>(i), sample)) tokens_[i] = kNotFiniteToken;
        if (!sample.draw || tokens_[i] == kNotFiniteToken) continue;
        Mat<const float> row = Mat<const float>(logits()).rows(static_cast<int64_t>(i), 1);
        if (sample.params.penalises()) row = penalised(row, sample);
        ops::sample(ctx_, {&tokens_[i], 1}, row, Vec<const ops::SampleParams>(&sample.params, 1));
      }
    }
    comm::broadcast(ctx_, Vec<int32_t>(tokens_.data(), static_cast<int64_t>(tokens_.size())));
  }

  ModelConfig config_;
  RunnerCapacity capacity_;
  StreamTap tap_;
  int64_t graph_cap_, prefill_chunk_;
  Transport transport_;
  double timeout_;
  OnNan on_nan_;
  int64_t verified_steps_;  ///< --verify replicas
  int64_t steps_ = 0;
  comm::Communicator comm_;
  Stage stage_;
  cpu::Context ctx_;
  LocalTensors tensors_;
  std::vector<std::byte> cache_memory_;
  std::unique_ptr<Model<cpu::Context, Act>> model_;
  std::vector<float> logits_, penalised_;
  std::vector<TokenId> tokens_;
  RunnerReport report_;
};

}  // namespace

std::unique_ptr<Runner> make_cpu_runner(const RunnerSetup& setup) {
  const Numerics numerics = setup.run.numerics.value_or(Numerics::kOfficial);
  if (numerics == Numerics::kExact) return std::make_unique<CpuRunner<float>>(setup, numerics);
  return std::make_unique<CpuRunner<bf16>>(setup, numerics);
}

}  // namespace octet
