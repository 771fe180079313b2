// The one list that names every option of every command: spelling, unit, range, default and help. It is walked to read
// flags, OCTET_* variables and YAML keys (resolve.cpp), to print the help and to show resolved values.
#pragma once

#include <limits>
#include <string_view>

#include "options/options.h"

namespace octet {

/// Values a number may have: from `least` (itself excluded if `above_least`) to `most`.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;
};
inline constexpr Range kFromOne = {.least = 1};

/// How an option is written and explained. The flag is --name with hyphens, the variable OCTET_NAME in capitals, the
/// YAML key the name itself.
struct OptionInfo {
  std::string_view name;
  std::string_view group;        ///< heading in the help
  char letter = 0;               ///< one-letter flag, 0 for none
  std::string_view value = {};   ///< placeholder in the help; empty for enums and switches
  std::string_view help = {};    ///< what it does, units included
  std::string_view absent = {};  ///< what no value means, for options without a default value
  std::string_view alias = {};   ///< second spelling of the flag
  Range range = {};
  bool required = false;
};

/// Calls visit(member, OptionInfo) for every option that `command` takes, in the order of its help.
template <class O, class Visit>
void visit_options(Command command, O& o, Visit&& visit);

inline constexpr OptionInfo kModelInfo = {.name = "model",
                                          .group = "Files",
                                          .letter = 'm',
                                          .value = "DIR",
                                          .help = "checkpoint folder in the official layout",
                                          .required = true};

/// Input, output and overwriting: alike in generate and score.
template <class Part, class Visit>
void visit_files(Part& part, std::string_view input_help, std::string_view output_help, Visit&& visit) {
  visit(part.input,
        OptionInfo{
            .name = "input", .group = "Files", .letter = 'i', .value = "FILE", .help = input_help, .required = true});
  visit(part.output,
        OptionInfo{
            .name = "output", .group = "Files", .letter = 'o', .value = "FILE", .help = output_help, .required = true});
  visit(part.force, OptionInfo{.name = "force", .group = "Files", .help = "overwrite existing output files"});
}

/// How the program runs, whatever it computes.
template <class O, class Visit>
void visit_run(O& o, Visit&& visit) {
  auto& run = o.run;
  visit(run.max_batch, OptionInfo{.name = "max_batch",
                                  .group = "Running",
                                  .value = "N",
                                  .help = "sequences in flight, at most",
                                  .range = kFromOne});
  visit(run.prefill_chunk, OptionInfo{.name = "prefill_chunk",
                                      .group = "Running",
                                      .value = "N",
                                      .help = "tokens of prompts in one step, at most",
                                      .range = kFromOne});
  visit(run.max_seq_len, OptionInfo{.name = "max_seq_len",
                                    .group = "Running",
                                    .value = "N",
                                    .help = "tokens of prompt and completion together, at most",
                                    .absent = "the model's limit",
                                    .range = kFromOne});
  visit(run.numerics, OptionInfo{.name = "numerics",
                                 .group = "Running",
                                 .help = "what is rounded where: nothing, the weights, or as the reference runs",
                                 .absent = "official"});
  visit(run.backend, OptionInfo{.name = "backend", .group = "Running", .help = "device that computes"});
  visit(run.transport, OptionInfo{.name = "transport", .group = "Running", .help = "how ranks exchange sums"});
  visit(o.log_level, OptionInfo{.name = "log_level",
                                .group = "Running",
                                .help = "least important lines shown on stderr; -q is warn, -v is debug"});
  visit(o.config, OptionInfo{.name = "config",
                             .group = "Running",
                             .value = "FILE.yaml",
                             .help = "read options from a YAML file: max_batch: 8 for --max-batch 8",
                             .absent = "none"});
}

template <class O, class Visit>
void visit_generate(O& o, Visit&& visit) {
  auto& g = o.generate;
  visit(o.run.model, kModelInfo);
  visit_files(g, "prompts: JSONL, a .txt file with one prompt per line, or - for stdin",
              "completions: JSONL, one line per prompt", visit);
  visit(g.summary, OptionInfo{.name = "summary",
                              .group = "Files",
                              .value = "FILE",
                              .help = "JSON summary of the run: tokens/s, percentiles, phases, memory",
                              .absent = "none"});
  constexpr std::string_view kGroup = "Completions (a line's own value goes first)";
  visit(g.max_tokens, OptionInfo{.name = "max_tokens",
                                 .group = kGroup,
                                 .value = "N",
                                 .help = "tokens of a completion, at most",
                                 .absent = "the rest of the context",
                                 .alias = "max_new_tokens",
                                 .range = kFromOne});
  visit(g.temperature, OptionInfo{.name = "temperature",
                                  .group = kGroup,
                                  .value = "T",
                                  .help = "0 takes the likeliest token, 1 samples as the model says",
                                  .absent = "generation_config.json",
                                  .range = {.least = 0}});
  visit(g.top_p, OptionInfo{.name = "top_p",
                            .group = kGroup,
                            .value = "P",
                            .help = "sample from the likeliest tokens of this total probability",
                            .absent = "generation_config.json",
                            .range = {.least = 0, .most = 1, .above_least = true}});
  visit(g.top_k, OptionInfo{.name = "top_k",
                            .group = kGroup,
                            .value = "K",
                            .help = "sample from the K likeliest tokens; 0: from all",
                            .absent = "generation_config.json",
                            .range = {.least = 0}});
  visit(g.seed,
        OptionInfo{.name = "seed", .group = kGroup, .value = "N", .help = "base of the seeds of lines without one"});
  visit(g.bos, OptionInfo{.name = "bos", .group = kGroup, .help = "auto: put BOS before text prompts that lack it"});
  visit_run(o, visit);
}

template <class O, class Visit>
void visit_score(O& o, Visit&& visit) {
  auto& s = o.score;
  visit(o.run.model, kModelInfo);
  visit_files(s, "JSONL lines {id, prompt_token_ids, continuation_token_ids}, or - for stdin",
              "log-probabilities: JSONL, one line per input line", visit);
  visit(s.dump_logits, OptionInfo{.name = "dump_logits",
                                  .group = "Files",
                                  .value = "FILE",
                                  .help = "safetensors file of <id>.logits [1 + continuation, vocabulary] F32",
                                  .absent = "none"});
  visit(s.dump_streams, OptionInfo{.name = "dump_streams",
                                   .group = "Files",
                                   .value = "FILE",
                                   .help = "safetensors file of <id>.layerK.last [streams, hidden] F32",
                                   .absent = "none"});
  visit(s.split, OptionInfo{.name = "split",
                            .group = "Running",
                            .value = "N",
                            .help = "tokens of prompt and continuation fed as prefill; the rest go one by one",
                            .absent = "the prompt",
                            .range = kFromOne});
  visit_run(o, visit);
}

template <class O, class Visit>
void visit_synth(O& o, Visit&& visit) {
  auto& s = o.synth;
  visit(s.config, OptionInfo{.name = "config",
                             .group = "Files",
                             .value = "FILE",
                             .help = "config.json of the model to make",
                             .required = true});
  visit(s.output, OptionInfo{.name = "output",
                             .group = "Files",
                             .letter = 'o',
                             .value = "DIR",
                             .help = "folder to write the checkpoint into",
                             .required = true});
  visit(s.seed, OptionInfo{.name = "seed", .group = "Files", .value = "N", .help = "seed of the weights"});
}

template <class O, class Visit>
void visit_options(Command command, O& o, Visit&& visit) {
  switch (command) {
    case Command::kGenerate: return visit_generate(o, visit);
    case Command::kScore: return visit_score(o, visit);
    case Command::kInspect: return visit(o.run.model, kModelInfo);
    case Command::kSynth: return visit_synth(o, visit);
  }
}

}  // namespace octet
