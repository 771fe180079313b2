// octet ab: the campaign's flags against one another in one process, weights loaded once. Every rank runs this; rank 0
// compares and writes.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/replace_file.h"
#include "comm/watchdog.h"
#include "commands.h"
#include "engine/ab_measure.h"
#include "engine/ab_plan.h"
#include "engine/ab_report.h"
#include "engine/request_limits.h"
#include "engine/requests.h"
#include "engine/run_inputs.h"
#include "engine/run_output.h"
#include "options/ab_arms.h"
#include "options/arm_fault.h"
#include "runtime/runner.h"

namespace octet {
namespace {

/// A line with an error ends the comparison: arms are compared on all prompts or not at all.
std::vector<AbPrompt> read_prompts(const RunInputs& in, const Options& options, const RequestLimits& limits) {
  RequestOptions request = options.request;
  request.max_tokens = options.ab.max_tokens;
  std::vector<AbPrompt> prompts;
  for (size_t i = 0; i < in.prompts.size(); ++i) {
    const Prompt& line = in.prompts[i];
    const auto refuse = [&line](const ItemError& error) {
      throw Error(Code::kInput, fmt::format("line {} of the prompts: {}", line.line, error.message));
    };
    if (line.error) refuse(*line.error);
    auto made = generate_requests(line, static_cast<int64_t>(i), limits, request, {});
    if (const ItemError* error = std::get_if<ItemError>(&made)) refuse(*error);
    for (Request& r : std::get<ItemRequests>(made).requests) {
      if (r.choice % line.samples() != 0) continue;  // greedy samples of one prompt are all alike
      prompts.push_back({line.id, std::move(r.tokens), r.max_new_tokens, r.ignore_eos});
    }
  }
  return prompts;
}

int64_t longest_of(const std::vector<AbPrompt>& prompts) {
  int64_t longest = 1;
  for (const AbPrompt& p : prompts) {
    longest = std::max(longest, static_cast<int64_t>(p.tokens.size()) + p.max_new_tokens);
  }
  return longest;
}

/// What all stages of the pipeline counted; ranks of one stage count alike.
void add_stages(AbResult& result, const RunnerReport& report, comm::MpiSession& session) {
  for (AbCase& one : result.cases) {
    for (ArmRecord& record : one.arms) {
      CampaignCounts& c = record.counts;
      const double share = report.stage_rank == 0 ? 1 : 0;
      const double own[] = {share * static_cast<double>(c.sums), share * static_cast<double>(c.int8_sums),
                            share * static_cast<double>(c.folded_posts), share * static_cast<double>(c.shared_mixes)};
      const std::vector<double> all = session.all_gather(own);
      int64_t sums[4] = {};
      for (size_t i = 0; i < all.size(); ++i) sums[i % 4] += static_cast<int64_t>(all[i]);
      c = {.sums = sums[0], .int8_sums = sums[1], .folded_posts = sums[2], .shared_mixes = sums[3]};
    }
  }
}

void show(const AbResult& result, const AbOptions& ab, comm::MpiSession& session) {
  session.funnel([&] {
    if (session.rank() != 0) return;
    if (!ab.json.empty()) replace_file(ab.json, ab_json(result).dump() + "\n", Durability::kProcess);
    const std::string text = ab_table(result);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      throw Error(Code::kEnvironment, "cannot write to standard output");
    }
  });
}

/// The arms, and the fault of a test in one of them.
struct Contest {
  std::vector<Arm> arms;
  std::optional<ArmFault> fault;
};

Contest read_contest(const AbOptions& ab) {
  Contest contest{.arms = with_null_arm(parse_arms(ab.arms, ab.graph_cap)), .fault = arm_fault_from_environment()};
  const auto is_faulty = [&](const Arm& arm) { return arm.name == contest.fault->arm; };
  if (contest.fault && std::none_of(contest.arms.begin(), contest.arms.end(), is_faulty)) {
    throw Error(Code::kUsage, fmt::format("OCTET_TEST_ARM_FAULT: there is no arm '{}'", contest.fault->arm));
  }
  return contest;
}

std::vector<AbCase> measure_all(ArmSteps& steps, const AbMeasuring& measuring, const std::vector<AbPrompt>& prompts,
                                TokenId eos) {
  std::vector<AbCase> cases;
  switch (*measuring.options.mode) {
    case AbMode::kPrefill:
      for (const int64_t length : measuring.options.lengths) cases.push_back(measure_prefill(steps, measuring, length));
      break;
    case AbMode::kDecode:
      for (const int64_t n : measuring.options.concurrency) cases.push_back(measure_decode(steps, measuring, n));
      break;
    case AbMode::kGenerate: cases.push_back(measure_generate(steps, measuring, prompts, eos)); break;
  }
  return cases;
}

}  // namespace

int run_ab(const Options& options, comm::MpiSession& session) {
  const AbOptions& ab = options.ab;
  const bool is_generate = ab.mode == AbMode::kGenerate;
  Contest contest;
  session.funnel([&] {
    contest = read_contest(ab);
    if (session.rank() == 0) check_outputs(is_generate ? ab.input : "-", {ab.json}, ab.force);
  });
  RunInputs in;
  std::vector<AbPrompt> prompts;
  if (is_generate && !ab.input.empty()) {
    in = open_inputs(options.run, ab.input, prompt_form(ab.input), session);
  } else {
    in.model = open_model_files(options.run, session);
  }
  const int64_t max_seq_len = in.model.limits.max_seq_len;
  session.funnel([&] {
    check_ab(options, max_seq_len);
    if (is_generate) {
      const RequestLimits limits =
          request_limits(options.run, options.request, in.model.config, in.model.tokenizer.get());
      prompts = read_prompts(in, options, limits);
    }
  });
  RunOptions run = options.run;
  run.graph_cap = ab.graph_cap;
  run.on_nan = OnNan::kItemError;  // an arm whose logits are not finite is wrong; the others have their answers still
  const std::unique_ptr<Runner> runner = make_runner(
      {.model_dir = run.model,
       .config = in.model.config,
       .run = run,
       .capacity = is_generate ? ab_capacity(1, longest_of(prompts), max_seq_len) : ab_capacity(options, max_seq_len),
       .session = &session,
       .tap = {}});
  AbResult result{
      .mode = *ab.mode, .plain_path = run.numerics == Numerics::kExact ? "fp32" : "bf16", .names = {}, .cases = {}};
  for (const Arm& arm : contest.arms) result.names.push_back(arm.name);
  {
    const comm::Watchdog::Armed armed(session.watchdog(), comm::Watchdog::Span::kLoop);
    ArmSteps steps(*runner, run.prefill_chunk, contest.fault);
    const AbMeasuring measuring{.arms = contest.arms,
                                .options = ab,
                                .vocab_size = in.model.config.vocab_size,
                                .progress = [](const std::string& title, int64_t repetition, int64_t of) {
                                  if (repetition == 0 || repetition == of)
                                    log::info("{}: repetition {} of {}", title, repetition, of);
                                }};
    for (const Arm& arm : contest.arms) {
      steps.use(arm);
      result.faults.push_back(steps.check());
    }
    result.cases = measure_all(steps, measuring, prompts, static_cast<TokenId>(in.model.config.eos_token_id));
    add_stages(result, runner->report(), session);
  }
  show(result, ab, session);
  return 0;
}

}  // namespace octet
