// See dry_run.h.
#include "dry_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "doctor.h"
#include "engine/run_output.h"
#include "model/memory_plan.h"
#include "model/plan_text.h"
#include "options/launcher.h"
#include "options/recorded_environment.h"

namespace octet {
namespace {

MemoryPlan plan_of(const Options& options, const ModelConfig& config, const DryRunFacts& facts) {
  const MemoryPlanner planner(config, facts.ranks, options.run.numerics.value_or(Numerics::kOfficial),
                              options.run.campaign, static_cast<int>(options.run.pp));
  return planner.plan(facts.slots, facts.longest_request, options.run.prefill_chunk, facts.pages);
}

/// The command without --dry-run, with mpirun before it if several ranks are to run.
std::vector<std::string> real_command(const std::vector<std::string>& own, int ranks) {
  std::vector<std::string> words;
  if (ranks > 1) words = {"mpirun", "-np", std::to_string(ranks)};
  for (const std::string& word : own) {
    if (word != "--dry-run" && word != "--dry-run=true" && word != "--dry-run=1") words.push_back(word);
  }
  return words;
}

std::string gib(int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) * 0x1p-30);
}

}  // namespace

std::string shell_text(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::string dry_run_text(const Options& options, const ModelConfig& config, const DryRunFacts& facts,
                         const std::vector<std::string>& command_line) {
  const MemoryPlan plan = plan_of(options, config, facts);
  const int64_t runnable = facts.lines - facts.failed;
  std::string text = fmt::format("{} lines: {} would run, {} would end with an error\n", grouped(facts.lines),
                                 grouped(runnable), grouped(facts.failed));
  text += fmt::format("{} prompt tokens, at most {} new ones; the longest request has up to {} tokens\n",
                      grouped(facts.prompt_tokens), grouped(facts.most_new_tokens), grouped(facts.longest_request));
  text += fmt::format("{} rank{}: {} sequences in flight, steps of up to {} prompt tokens, {} pages of state\n",
                      facts.ranks, facts.ranks == 1 ? "" : "s", facts.slots, grouped(options.run.prefill_chunk),
                      grouped(facts.pages));
  if (runnable > 0) {
    text +=
        fmt::format("each rank needs up to {}: weights {}, cache {}, scratch {}, logits {}\n", gib(plan.total_bytes()),
                    gib(plan.weight_bytes), gib(plan.cache_bytes), gib(plan.scratch_bytes), gib(plan.logits_bytes));
  }
  return text + "to run it:\n" + shell_text(real_command(command_line, facts.ranks)) + "\n";
}

int print_dry_run(const Options& options, const ModelConfig& config, const DryRunFacts& facts, int64_t local_ranks) {
  const std::string text = dry_run_text(options, config, facts, own_command_line());
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(Code::kEnvironment, "cannot write to standard output");
  }
  const int64_t needed = plan_of(options, config, facts).total_bytes() * local_ranks;
  const int64_t available = look_at_machine().available_bytes;
  if (facts.failed < facts.lines && needed > available) {
    throw Error(Code::kMemory, fmt::format("the {} ranks of this host would need {}, and {} are available", local_ranks,
                                           gib(needed), gib(available)));
  }
  return exit_status(facts.failed);
}

}  // namespace octet
