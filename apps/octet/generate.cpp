// octet generate: prompts in, completions out. Every rank runs this; rank 0 reads the input and writes the rows.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "build_facts.h"
#include "comm/watchdog.h"
#include "commands.h"
#include "dry_run.h"
#include "engine/batch_input.h"
#include "engine/item_feed.h"
#include "engine/loop.h"
#include "engine/progress.h"
#include "engine/rank_report.h"
#include "engine/request_source.h"
#include "engine/rows.h"
#include "engine/run_inputs.h"
#include "engine/run_output.h"
#include "engine/run_record.h"
#include "engine/summary.h"
#include "model/memory_plan.h"
#include "options/test_fault.h"
#include "runtime/plan_report.h"
#include "runtime/runner.h"

namespace octet {
namespace {

/// What the ranks must know of the input that rank 0 has read.
struct BatchShape {
  RunnerCapacity capacity;
  int64_t prefix_slots = 0;
  int64_t sequences = 0;
};

/// One run of generate: what its parts share.
class BatchRun {
 public:
  BatchRun(const Options& options, comm::MpiSession& session);
  int run();

 private:
  ItemReader make_reader();
  void read_input();
  void begin_record();
  void load();
  void complete();
  void write(CompletedItem&& item, int64_t index);
  void write_error(int64_t index, const Prompt& prompt, const ItemError& error, uint64_t hash);
  int report();
  void check_memory_plan(const std::vector<RankReport>& ranks);
  int dry_run();
  ProgressTotals progress_totals() const;
  bool is_root() const { return session_.rank() == 0; }

  const Options& options_;
  const GenerateOptions& generate_;
  comm::MpiSession& session_;
  PromptForm form_;
  ModelFiles model_;
  SamplingDefaults defaults_;
  std::set<std::string> warned_;
  RowContext row_context_;
  std::optional<RunOutput> output_;  ///< none in a dry run
  ItemReader reader_;
  BatchShape shape_;
  std::optional<BatchInput> input_;  ///< rank 0
  std::optional<ItemFeed> feed_;     ///< rank 0
  std::unique_ptr<Runner> runner_;   ///< null when nothing is left to generate
  RunSummary summary_;
  ProgressState done_;
  std::vector<PlanLine> memory_;  ///< rank 0: planned and held
};

ResultFile::Open open_mode(const GenerateOptions& generate) {
  if (generate.resume || generate.retry_errors) return ResultFile::Open::kResume;
  return generate.force ? ResultFile::Open::kForce : ResultFile::Open::kFresh;
}

ModelFiles open_model(const Options& options, comm::MpiSession& session) {
  const GenerateOptions& generate = options.generate;
  session.funnel([&] {
    if (generate.dry_run && (generate.resume || generate.retry_errors)) {
      throw Error(Code::kUsage, "--dry-run plans a run from its beginning: leave --resume and --retry-errors out");
    }
    const bool may_exist = open_mode(generate) != ResultFile::Open::kFresh;
    if (session.rank() == 0) check_outputs(generate.input, {generate.output, generate.summary}, may_exist);
  });
  return open_model_files(options.run, session);
}

BatchRun::BatchRun(const Options& options, comm::MpiSession& session)
    : options_(options),
      generate_(options.generate),
      session_(session),
      form_(generate_.input.ends_with(".txt") ? PromptForm::kText : PromptForm::kGenerate),
      model_(open_model(options, session)),
      reader_(make_reader()) {
  if (!generate_.dry_run) output_.emplace(session, generate_.output, open_mode(generate_));
}

ItemReader BatchRun::make_reader() {
  session_.funnel([&] {
    defaults_ = with_flags(read_generation_config(options_.run.model), options_.request);
    model_.limits = request_limits(options_.run, options_.request, model_.config, model_.tokenizer.get());
  });
  log::info("lines without a temperature: {} ({})", defaults_.temperature, defaults_.source);
  row_context_.tokenizer = model_.tokenizer.get();
  row_context_.model = served_name(options_.run.model);
  row_context_.created = std::time(nullptr);
  if (is_root()) model_.limits.warned = &warned_;
  return {form_, [this](const Prompt& prompt, int64_t index) {
            return generate_requests(prompt, index, model_.limits, options_.request, defaults_);
          }};
}

void BatchRun::read_input() {
  session_.funnel([&] {
    if (!is_root()) return;
    IndexOptions index{.max_batch = options_.run.max_batch,
                       .max_seq_len = model_.limits.max_seq_len,
                       .share_prefixes = !generate_.no_prefix_sharing,
                       .max_errors = generate_.fail_fast ? std::optional<int64_t>(0) : generate_.max_errors};
    const std::span<const EarlierRow> earlier = output_ ? output_->file().earlier() : std::span<const EarlierRow>();
    input_.emplace(generate_.input, reader_, index, earlier, generate_.retry_errors);
    for (const ResumePlan::Kept& kept : input_->resume().kept) output_->file().keep(kept.earlier, kept.index);
    if (!earlier.empty()) log::info("{}", input_->resume().sentence());
    shape_ = {input_->index().capacity(), input_->index().prefix_slots(), input_->index().totals().sequences};
    feed_.emplace(
        input_->lines(), reader_, input_->index(),
        [this](auto index_of, auto& prompt, auto& error, auto hash) { write_error(index_of, prompt, error, hash); });
  });
  session_.broadcast(&shape_, sizeof shape_);
}

/// Before the weights are read when an earlier run's rows are kept, so that a difference shows at once; else when
/// nothing can go wrong any more before the first row.
void BatchRun::begin_record() {
  session_.funnel([&] {
    if (!is_root()) return;
    const RunFacts facts{.version = kVersion, .build_type = kBuildType, .cuda = kCudaBuilt, .ranks = session_.size()};
    begin_run_record(generate_.output, make_run_record(Command::kGenerate, options_, facts),
                     output_->file().earlier().size());
  });
}

void BatchRun::load() {
  if (shape_.sequences == 0) return;
  runner_ = make_runner({.model_dir = options_.run.model,
                         .config = model_.config,
                         .run = options_.run,
                         .capacity = shape_.capacity,
                         .session = &session_,
                         .tap = {}});
}

void BatchRun::write(CompletedItem&& item, int64_t index) {
  if (item.is_broken()) return write_error(index, item.prompt, not_finite_error(), item.hash);
  for (const Completion& choice : item.choices) {
    ++done_.completions;
    done_.completion_tokens_of_done += static_cast<int64_t>(choice.finished.tokens.size());
  }
  ++done_.done;
  summary_.add_line();
  output_->write(index, completion_row(item.prompt, item.provenance, item.choices, hash_text(item.hash), row_context_));
}

void BatchRun::write_error(int64_t index, const Prompt& prompt, const ItemError& error, uint64_t hash) {
  ++done_.failed;
  summary_.add_error(error.code);
  output_->write(index, error_row(prompt, error, form_, hash_text(hash)));
}

ProgressTotals BatchRun::progress_totals() const {
  if (!input_) return {};
  const RunTotals& totals = input_->index().totals();
  return {.items = totals.items,
          .prompt_tokens = totals.prompt_tokens,
          .kept = totals.done,
          .kept_failed = input_->resume().failed,
          .ranks = session_.size()};
}

void BatchRun::complete() {
  std::optional<Progress> progress;
  if (is_root()) progress.emplace(progress_totals(), generate_.progress, generate_.status_file);
  if (!runner_) {
    session_.funnel([&] {
      if (feed_) feed_->next(1);  // there is none, but there may be lines with errors
    });
  } else {
    Scheduler scheduler({runner_->capacity(), options_.run.prefill_chunk,
                         static_cast<TokenId>(model_.config.eos_token_id), shape_.prefix_slots},
                        model_.tokenizer.get());
    RequestSource source(feed_ ? &*feed_ : nullptr, options_.run.max_batch, session_);
    LoopHooks hooks;
    hooks.refill = [&] {
      if (stop_requested()) {
        throw Error(Code::kInterrupted, fmt::format("interrupted by {}; {} lines are finished, --resume goes on",
                                                    stop_signal(), progress_totals().kept + done_.done + done_.failed));
      }
      source.refill(scheduler);
      output_->sync_if_due();
    };
    if (kTestHooks) hooks.before_step = [&](const BatchPlan& plan, auto) { compare_plans(plan, session_); };
    hooks.after_step = [&](std::span<const SampleOrigin> origins, Mat<const float> logits,
                           std::span<const TokenId> drawn) {
      for (size_t i = 0; feed_ && i < origins.size(); ++i) {
        if (origins[i].logprobs < 0 || drawn[i] == kNotFiniteToken) continue;
        feed_->observe(origins[i], token_logprobs(logits[static_cast<int64_t>(i)], drawn[i], origins[i].logprobs));
      }
    };
    hooks.finished = [&](Finished&& finished, const Timing& timing) {
      if (finished.reason != FinishReason::kNotFinite) summary_.add(finished, timing);
      if (!feed_) return;
      const int64_t index = finished.index;
      if (std::optional<CompletedItem> item = feed_->complete(std::move(finished), timing)) {
        write(std::move(*item), index);
      }
    };
    hooks.progress = [&](const StepRecord& record) {
      if (progress) progress->step(record, done_);
    };
    const comm::Watchdog::Armed armed(session_.watchdog(), comm::Watchdog::Span::kLoop);
    summary_.set_steps(run_loop(scheduler, *runner_, hooks));
  }
  output_->finish(generate_.unordered);
  if (progress) progress->end(RunState::kFinished);
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed) throw Error(Code::kEnvironment, fmt::format("cannot write the summary {}", path));
}

int BatchRun::report() {
  summary_.add_write_seconds(output_->seconds());
  const std::vector<RankReport> ranks = gather_reports(runner_ ? runner_->report() : RunnerReport{}, session_);
  if (runner_) {
    for (const std::string& line : summary_.table(ranks)) log::info("{}", line);
    check_memory_plan(ranks);
  }
  session_.funnel([&] {
    if (!is_root() || generate_.summary.empty()) return;
    Json json = summary_.to_json(ranks);
    Json memory = Json::array();
    for (const PlanLine& line : memory_) {
      memory.push(Json::object(
          {{"name", line.name}, {"predicted", line.predicted}, {"actual", line.actual}, {"holds", line.holds}}));
    }
    json.set("memory_plan", std::move(memory));
    write_file(generate_.summary, json.dump() + "\n");
  });
  int64_t failed = done_.failed + (input_ ? input_->resume().failed : 0);
  session_.broadcast(&failed, sizeof failed);
  return exit_status(failed);
}

/// The planner must be right: what was predicted stands beside what the rank that holds most really held.
void BatchRun::check_memory_plan(const std::vector<RankReport>& ranks) {
  if (!is_root()) return;
  const MemoryPlanner planner(model_.config, session_.size(), options_.run.numerics.value_or(Numerics::kOfficial),
                              options_.run.campaign, static_cast<int>(options_.run.pp));
  const MemoryPlan plan = planner.plan(shape_.capacity.slots, input_->index().totals().longest,
                                       options_.run.prefill_chunk, shape_.capacity.pages);
  const auto largest = std::max_element(ranks.begin(), ranks.end(), [](const RankReport& a, const RankReport& b) {
    return a.runner.weight_bytes < b.runner.weight_bytes;
  });
  memory_ = compare_plan(plan, largest->runner);
  log::info("{}", plan_comparison_text(memory_));
}

int BatchRun::dry_run() {
  int local_ranks = 0;
  const std::string host = host_name();
  for (const std::string& other : session_.gather_texts(host)) local_ranks += other == host ? 1 : 0;
  int code = 0;
  session_.funnel([&] {
    if (!is_root()) return;
    const RunTotals& totals = input_->index().totals();
    code = print_dry_run(options_, model_.config,
                         {.ranks = session_.size(),
                          .lines = totals.items,
                          .failed = totals.failed,
                          .prompt_tokens = totals.prompt_tokens,
                          .most_new_tokens = totals.new_tokens,
                          .longest_request = totals.longest,
                          .slots = shape_.capacity.slots,
                          .pages = shape_.capacity.pages},
                         local_ranks);
  });
  session_.broadcast(&code, sizeof code);
  return code;
}

int BatchRun::run() {
  read_input();
  if (generate_.dry_run) return dry_run();
  bool goes_on = is_root() && !output_->file().earlier().empty();
  session_.broadcast(&goes_on, sizeof goes_on);
  if (goes_on) begin_record();
  load();
  if (!goes_on) begin_record();
  complete();
  return report();
}

}  // namespace

int run_generate(const Options& options, comm::MpiSession& session) {
  return BatchRun(options, session).run();
}

}  // namespace octet
