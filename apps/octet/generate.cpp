// octet generate: prompts in, completions out. Every rank runs this; rank 0 writes.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <map>
#include <memory>
#include <set>
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

/// What is known of a line while its completions are made.
struct Item {
  ChatProvenance provenance;
  size_t wanted = 0;
  std::vector<Completion> done;
};

/// Items by index of the prompt; those with errors have none.
using Items = std::map<int64_t, Item>;

SortedPrompts make_requests(const Options& options, RunInputs& in, Items& items, comm::MpiSession& session) {
  SamplingDefaults defaults;
  std::set<std::string> warned;
  session.funnel([&] {
    defaults = with_flags(read_generation_config(options.run.model), options.request);
    in.limits = request_limits(options.run, options.request, in.config, in.tokenizer.get());
  });
  RequestLimits limits = in.limits;
  if (session.rank() == 0) limits.warned = &warned;
  log::info("lines without a temperature: {} ({})", defaults.temperature, defaults.source);
  SortedPrompts sorted;
  for (int64_t index = 0; index < std::ssize(in.prompts); ++index) {
    const Prompt& prompt = in.prompts[static_cast<size_t>(index)];
    auto made = prompt.error ? *prompt.error : generate_requests(prompt, index, limits, options.request, defaults);
    if (ItemError* error = std::get_if<ItemError>(&made)) {
      sorted.errors.emplace_back(index, std::move(*error));
      continue;
    }
    ItemRequests& item = std::get<ItemRequests>(made);
    items[index] = {.provenance = std::move(item.provenance), .wanted = item.requests.size(), .done = {}};
    std::move(item.requests.begin(), item.requests.end(), std::back_inserter(sorted.requests));
  }
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

void complete(Runner& runner, const Options& options, const RunInputs& in, std::vector<Request> requests, Items& items,
              RunOutput& output, RunSummary& summary, comm::MpiSession& session) {
  Scheduler scheduler({runner.capacity(), options.run.prefill_chunk, static_cast<TokenId>(in.config.eos_token_id)},
                      in.tokenizer.get());
  Progress progress(static_cast<int64_t>(requests.size()));
  for (Request& request : requests) scheduler.add(std::move(request));

  const RowContext context{.tokenizer = in.tokenizer.get(), .model = in.limits.model, .created = std::time(nullptr)};
  LoopHooks hooks;
  if (kTestHooks) hooks.before_step = [&](const BatchPlan& plan, auto) { compare_plans(plan, session); };
  hooks.finished = [&](Finished&& finished, const Timing& timing) {
    summary.add(finished, timing);
    if (!output.here()) return;
    const int64_t index = finished.index;
    Item& item = items.at(index);
    item.done.push_back({.finished = std::move(finished), .timing = timing});
    if (item.done.size() < item.wanted) return;
    std::sort(item.done.begin(), item.done.end(),
              [](const auto& a, const auto& b) { return a.finished.choice < b.finished.choice; });
    const Prompt& prompt = in.prompts[static_cast<size_t>(index)];
    output.write(index, completion_row(prompt, item.provenance, item.done, /*input_hash=*/"", context));
    items.erase(index);
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
  const PromptForm form = prompt_form(generate.input);
  session.funnel([&] {
    if (session.rank() == 0) check_outputs(generate.input, {generate.output, generate.summary}, generate.force);
  });
  RunInputs in = open_inputs(options.run, generate.input, form, session);
  RunOutput output(session, generate.output, generate.force);
  Items items;
  SortedPrompts sorted = make_requests(options, in, items, session);

  // Rows are written only once the model is there: a run that cannot begin leaves no journal behind.
  std::unique_ptr<Runner> runner;
  if (!sorted.requests.empty()) runner = load(options, in, sorted.requests, session);
  RunSummary summary;
  for (const auto& [index, error] : sorted.errors) {
    summary.add_error(error.code);
    output.write(index, error_row(in.prompts[static_cast<size_t>(index)], error, form));
  }
  if (runner) complete(*runner, options, in, std::move(sorted.requests), items, output, summary, session);
  output.finish();
  summary.add_write_seconds(output.seconds());
  report(options, summary, runner ? runner->report() : RunnerReport{}, session);
  return exit_status(summary.failed());
}

}  // namespace octet
