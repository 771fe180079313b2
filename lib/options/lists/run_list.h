// Options that several commands share: the model, the files of a run, and how a run runs.
#pragma once

#include "options/option_info.h"

namespace octet {

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

inline constexpr std::string_view kCampaignGroup = "Campaign";

/// The campaign's flags, in options and in the arms of octet ab.
template <class C, class Visit>
void visit_campaign_flags(C& c, Visit&& visit) {
  constexpr std::string_view kGroup = kCampaignGroup;
  visit(c.ar_int8, OptionInfo{.name = "ar_int8",
                              .group = kGroup,
                              .help = "sum the layers' partial results as int8 codes in steps that are large enough"});
  visit(c.ar_int8_min_tokens, OptionInfo{.name = "ar_int8_min_tokens",
                                         .group = kGroup,
                                         .value = "N",
                                         .help = "tokens of the smallest step whose sums are int8",
                                         .range = kFromOne});
  visit(c.mhc_post_sqrsum, OptionInfo{.name = "mhc_post_sqrsum",
                                      .group = kGroup,
                                      .help = "fold the next mix's row sum of squares into the post of the streams"});
  visit(c.mhc_prenorm_shard, OptionInfo{.name = "mhc_prenorm_shard",
                                        .group = kGroup,
                                        .help = "ranks share the rows of the mix; needs --mhc-post-sqrsum"});
  visit(c.mhc_prenorm_shard_min_tokens, OptionInfo{.name = "mhc_prenorm_shard_min_tokens",
                                                   .group = kGroup,
                                                   .value = "N",
                                                   .help = "tokens of the smallest step whose mix is shared",
                                                   .range = kFromOne});
}

/// The campaign's flags and what bounds them, alike wherever layers run.
template <class O, class Visit>
void visit_campaign(O& o, Visit&& visit) {
  visit_campaign_flags(o.run.campaign, visit);
  visit(o.run.graph_cap,
        OptionInfo{.name = "graph_cap",
                   .group = kCampaignGroup,
                   .value = "N",
                   .help = "tokens of the largest step that may be a captured graph; below both thresholds; 0: none",
                   .range = {.least = 0}});
}

/// How a run watches itself.
template <class O, class Visit>
void visit_proof(O& o, Visit&& visit) {
  constexpr std::string_view kGroup = "Checks";
  visit(o.run.selfcheck, OptionInfo{.name = "selfcheck",
                                    .group = kGroup,
                                    .help = "prove the sums and the campaign's paths at start-up; ends with 9 if not"});
  visit(o.run.verify, OptionInfo{.name = "verify",
                                 .group = kGroup,
                                 .value = "replicas[=N]",
                                 .help = "compare every sum across the ranks, in all steps or the first N",
                                 .absent = "never"});
  visit(o.run.on_nan, OptionInfo{.name = "on_nan",
                                 .group = kGroup,
                                 .help = "values that are not finite end the run, or only the lines they belong to"});
}

/// What holds for every command that ranks run.
template <class O, class Visit>
void visit_program(O& o, Visit&& visit) {
  visit(o.run.timeout, OptionInfo{.name = "timeout",
                                  .group = "Running",
                                  .value = "S",
                                  .help = "seconds a rank may keep the others waiting before the run ends with 8",
                                  .range = {.least = 0, .above_least = true}});
  visit(o.log_level, OptionInfo{.name = "log_level",
                                .group = "Running",
                                .help = "least important lines shown on stderr; -q is warn, -v is debug"});
  visit(o.config, OptionInfo{.name = "config",
                             .group = "Running",
                             .value = "FILE.yaml",
                             .help = "read options from a YAML file: max_batch: 8 for --max-batch 8",
                             .absent = "none"});
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
  visit(run.pp, OptionInfo{.name = "pp",
                           .group = "Running",
                           .value = "P",
                           .help = "pipeline stages: the layers are split over P groups of ranks",
                           .range = kFromOne});
  visit_program(o, visit);
}

}  // namespace octet
