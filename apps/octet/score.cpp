// octet score: log-probabilities of given continuations, and dumps of logits and residual streams. Every rank runs
// this; rank 0 scores and writes.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/stop_signal.h"
#include "comm/watchdog.h"
#include "commands.h"
#include "engine/loop.h"
#include "engine/progress.h"
#include "engine/rows.h"
#include "engine/run_inputs.h"
#include "engine/run_output.h"
#include "engine/score.h"
#include "options/test_fault.h"
#include "runtime/runner.h"

namespace octet {
namespace {

/// The files that --dump-logits and --dump-streams ask for; only rank 0 has them.
struct Dumps {
  std::unique_ptr<OrderedDump> logits, streams;
};

Dumps open_dumps(const ScoreOptions& score, const RunInputs& in, const std::vector<Request>& requests,
                 comm::MpiSession& session) {
  Dumps dumps;
  session.funnel([&] {
    if (session.rank() != 0) return;
    if (!score.dump_logits.empty()) {
      dumps.logits = make_logits_dump(score.dump_logits, in.prompts, requests, in.model.config.vocab_size);
    }
    if (!score.dump_streams.empty()) {
      dumps.streams = make_streams_dump(score.dump_streams, in.prompts, requests, in.model.config);
    }
  });
  return dumps;
}

/// A row of the running step whose streams are wanted, and the request it belongs to.
struct TappedRow {
  int64_t row, index;
};

std::vector<TappedRow> last_prompt_rows(const BatchPlan& plan, std::span<const SampleOrigin> origins) {
  std::vector<TappedRow> rows;
  for (size_t i = 0; i < origins.size(); ++i) {
    if (origins[i].position == origins[i].prompt_tokens - 1) rows.push_back({plan.samples[i].row, origins[i].index});
  }
  return rows;
}

/// The model, with a tap that dumps the rows in `tapped` if streams are wanted.
std::unique_ptr<Runner> load(const Options& options, const RunInputs& in, const std::vector<Request>& requests,
                             const std::vector<TappedRow>& tapped, Dumps& dumps, comm::MpiSession& session) {
  RunnerSetup setup{.model_dir = options.run.model,
                    .config = in.model.config,
                    .run = options.run,
                    .capacity = capacity_for(requests, options.run, in.model.limits.max_seq_len),
                    .session = &session,
                    .tap = {}};
  if (!options.score.dump_streams.empty()) {  // on every rank: all run the same program
    setup.tap = [&tapped, &dumps](std::string_view, Cube<const float> streams) {
      if (!dumps.streams) return;
      for (const TappedRow& t : tapped) {
        const Mat<const float> own = streams[t.row];
        dumps.streams->append(t.index, {own.data, static_cast<size_t>(own.size())});
      }
    };
  }
  return make_runner(setup);
}

/// Returns how many sequences had no finite logits (--on-nan item-error).
int64_t score_all(Runner& runner, const Options& options, const RunInputs& in, std::vector<Request> requests,
                  std::vector<TappedRow>& tapped, Dumps& dumps, RunOutput& output, comm::MpiSession& session) {
  Scheduler scheduler(
      {runner.capacity(), options.run.prefill_chunk, static_cast<TokenId>(in.model.config.eos_token_id)}, nullptr);
  ProgressTotals totals{.items = static_cast<int64_t>(requests.size()), .ranks = session.size()};
  for (const Request& request : requests) totals.prompt_tokens += request.prefill_tokens;
  std::optional<Progress> progress;
  if (output.here()) progress.emplace(totals, ProgressStyle::kAuto, "");
  for (Request& request : requests) scheduler.add(std::move(request));

  int64_t failed = 0;
  Scorer scorer(in.prompts, dumps.logits.get());
  ProgressState done;
  LoopHooks hooks;
  hooks.before_step = [&](const BatchPlan& plan, std::span<const SampleOrigin> origins) {
    if (kTestHooks) compare_plans(plan, session);
    tapped = last_prompt_rows(plan, origins);
  };
  hooks.after_step = [&](std::span<const SampleOrigin> origins, Mat<const float> logits, auto) {
    if (output.here()) scorer.observe(origins, logits);
  };
  hooks.finished = [&](Finished&& finished, const Timing& timing) {
    ++done.done;
    if (!output.here()) return;
    const Prompt& prompt = in.prompts[static_cast<size_t>(finished.index)];
    if (finished.reason == FinishReason::kNotFinite) {
      ++failed;
      return output.write(finished.index, error_row(prompt, not_finite_error(), PromptForm::kScore));
    }
    output.write(finished.index, score_row(prompt, scorer.take(finished.index), timing));
  };
  hooks.progress = [&](const StepRecord& record) {
    if (progress) progress->step(record, done);
  };
  hooks.refill = [] {
    if (stop_requested()) throw Error(Code::kInterrupted, fmt::format("interrupted by {}", stop_signal()));
  };
  const comm::Watchdog::Armed armed(session.watchdog(), comm::Watchdog::Span::kLoop);
  run_loop(scheduler, runner, hooks);
  if (progress) progress->end(RunState::kFinished);
  return failed;
}

}  // namespace

int run_score(const Options& options, comm::MpiSession& session) {
  const ScoreOptions& score = options.score;
  if (options.run.pp > 1 && !score.dump_streams.empty()) {
    throw Error(Code::kUsage, "--dump-streams needs --pp 1: the streams of other stages never come to rank 0");
  }
  session.funnel([&] {
    if (session.rank() == 0) {
      check_outputs(score.input, {score.output, score.dump_logits, score.dump_streams}, score.force);
    }
  });
  const RunInputs in = open_inputs(options.run, score.input, PromptForm::kScore, session);
  RunOutput output(session, score.output, score.force ? ResultFile::Open::kForce : ResultFile::Open::kFresh);
  SortedPrompts sorted = sort_prompts(in.prompts, [&](const Prompt& prompt, int64_t index) {
    return score_request(prompt, index, in.model.limits, score);
  });
  Dumps dumps = open_dumps(score, in, sorted.requests, session);
  // Rows are written only once the model is there: a run that cannot begin leaves no journal behind.
  std::vector<TappedRow> tapped;
  std::unique_ptr<Runner> runner;
  if (!sorted.requests.empty()) runner = load(options, in, sorted.requests, tapped, dumps, session);
  for (const auto& [index, error] : sorted.errors) {
    output.write(index, error_row(in.prompts[static_cast<size_t>(index)], error, PromptForm::kScore));
  }
  int64_t failed = 0;
  if (runner) failed = score_all(*runner, options, in, std::move(sorted.requests), tapped, dumps, output, session);
  session.funnel([&] {
    if (dumps.logits) dumps.logits->close();
    if (dumps.streams) dumps.streams->close();
  });
  output.finish();
  session.broadcast(&failed, sizeof failed);
  return exit_status(static_cast<int64_t>(sorted.errors.size()) + failed);
}

}  // namespace octet
