// octet generate: prompts in, completions out. Every rank runs this; rank 0 writes.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "commands.h"
#include "engine/loop.h"
#include "engine/rank_report.h"
#include "engine/rows.h"
#include "engine/run_inputs.h"
#include "engine/run_output.h"
#include "engine/summary.h"
#include "options/test_fault.h"
#include "runtime/runner.h"

namespace octet {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

SortedPrompts make_requests(const Options& options, RunInputs& in, comm::MpiSession& session) {
  SamplingDefaults defaults;
  session.funnel([&] { defaults = with_flags(read_generation_config(options.run.model), options.request); });
  log::info("lines without a temperature: {} ({})", defaults.temperature, defaults.source);
  SortedPrompts sorted = sort_prompts(in.prompts, [&](const Prompt& prompt, int64_t index) {
    return generate_request(prompt, index, in.limits, options.request, defaults);
  });
  for (Prompt& prompt : in.prompts) {  // the requests hold the tokens
    prompt.inputs.clear();
  }
  return sorted;
}

std::unique_ptr<Runner> load(const Options& options, const RunInputs& in, const std::vector<Request>& requests,
                             comm::MpiSession& session) {
  return make_runner({.model_dir = options.run.model,
                      .config = in.config,
                      .run = options.run,
                      .capacity = capacity_for(requests, options.run, in.limits.max_seq_len),
                      .session = &session,
                      .tap = {}});
}

void complete(Runner& runner, const Options& options, const RunInputs& in, std::vector<Request> requests,
              RunOutput& output, RunSummary& summary, comm::MpiSession& session) {
  Scheduler scheduler({runner.capacity(), options.run.prefill_chunk, static_cast<TokenId>(in.config.eos_token_id)},
                      in.tokenizer.get());
  Progress progress(static_cast<int64_t>(requests.size()));
  for (Request& request : requests) scheduler.add(std::move(request));

  LoopHooks hooks;
  if (kTestHooks) hooks.before_step = [&](const BatchPlan& plan, auto) { compare_plans(plan, session); };
  hooks.finished = [&](Finished&& finished, const Timing& timing) {
    summary.add(finished, timing);
    if (!output.here()) return;
    const Prompt& prompt = in.prompts[static_cast<size_t>(finished.index)];
    output.write(finished.index, completion_row(prompt, finished, timing, in.tokenizer.get()));
  };
  hooks.progress = [&](const StepRecord& record) { progress.step(record, summary.completed()); };
  summary.set_steps(run_loop(scheduler, runner, hooks));
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed) throw Error(Code::kEnvironment, fmt::format("cannot write the summary {}", path));
}

void report(const Options& options, const RunSummary& summary, const RunnerReport& own, comm::MpiSession& session) {
  const std::vector<RankReport> ranks = gather_reports(own, session);
  for (const std::string& line : summary.table(ranks)) log::info("{}", line);
  session.funnel([&] {
    if (session.rank() != 0 || options.generate.summary.empty()) return;
    write_file(options.generate.summary, summary.to_json(ranks).dump() + "\n");
  });
}

}  // namespace

int run_generate(const Options& options, comm::MpiSession& session) {
  const GenerateOptions& generate = options.generate;
  const PromptForm form = ends_with(generate.input, ".txt") ? PromptForm::kText : PromptForm::kGenerate;
  session.funnel([&] {
    if (session.rank() == 0) check_outputs(generate.input, {generate.output, generate.summary}, generate.force);
  });
  RunInputs in = open_inputs(options.run, generate.input, form, session);
  RunOutput output(session, generate.output, generate.force);
  SortedPrompts sorted = make_requests(options, in, session);

  // Rows are written only once the model is there: a run that cannot begin leaves no journal behind.
  std::unique_ptr<Runner> runner;
  if (!sorted.requests.empty()) runner = load(options, in, sorted.requests, session);
  RunSummary summary;
  for (const auto& [index, error] : sorted.errors) {
    summary.add_error(error.code);
    output.write(index, error_row(in.prompts[static_cast<size_t>(index)], error, form));
  }
  if (runner) complete(*runner, options, in, std::move(sorted.requests), output, summary, session);
  output.finish();
  summary.add_write_seconds(output.seconds());
  report(options, summary, runner ? runner->report() : RunnerReport{}, session);
  return exit_status(summary.failed());
}

}  // namespace octet
