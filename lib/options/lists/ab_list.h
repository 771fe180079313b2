// The options of octet ab: the arms, and what each mode measures.
#pragma once

#include "options/lists/generate_list.h"

namespace octet {

/// What is measured: each of these belongs to one mode (engine/ab_plan.h refuses it in another).
template <class O, class Visit>
void visit_ab_measures(O& o, Visit&& visit) {
  auto& ab = o.ab;
  visit(ab.repeat, OptionInfo{.name = "repeat",
                              .group = "Measuring prefill and decode",
                              .value = "N",
                              .help = "counted repetitions, after one that is not; all arms run in each",
                              .range = {.least = 3}});
  visit(
      ab.seed,
      OptionInfo{
          .name = "seed", .group = "Measuring prefill and decode", .value = "N", .help = "seed of the random prompts"});
  visit(ab.lengths, OptionInfo{.name = "lengths",
                               .group = "Measuring prefill",
                               .value = "N,N,...",
                               .help = "tokens of the prompts",
                               .range = kFromOne});
  visit(ab.context, OptionInfo{.name = "context",
                               .group = "Measuring decode",
                               .value = "N",
                               .help = "tokens of each sequence before the timed steps",
                               .range = kFromOne});
  visit(ab.concurrency, OptionInfo{.name = "concurrency",
                                   .group = "Measuring decode",
                                   .value = "N,N,...",
                                   .help = "sequences that decode together, at most --max-batch",
                                   .range = kFromOne});
  visit(
      ab.steps,
      OptionInfo{.name = "steps", .group = "Measuring decode", .value = "N", .help = "timed steps", .range = kFromOne});
  visit(ab.input, OptionInfo{.name = "input",
                             .group = "Measuring generate",
                             .letter = 'i',
                             .value = "FILE",
                             .help = "prompts, as for octet generate; completed greedily, each by all arms",
                             .absent = "needed by generate"});
  visit(ab.max_tokens, OptionInfo{.name = "max_tokens",
                                  .group = "Measuring generate",
                                  .value = "N",
                                  .help = "tokens of a completion, at most, of lines that do not say",
                                  .range = kFromOne});
}

template <class O, class Visit>
void visit_ab(O& o, Visit&& visit) {
  auto& ab = o.ab;
  visit(ab.mode,
        OptionInfo{
            .name = "mode", .group = "Arms", .help = "what is timed; may stand without its flag", .required = true});
  visit(ab.arms,
        OptionInfo{.name = "arm",
                   .group = "Arms",
                   .value = "NAME:FLAG=VALUE,...",
                   .help = "an arm and its campaign flags; once per arm, the first is what others are compared "
                           "with; in a file or variable all arms, with ; or blanks between them",
                   .absent = "control: alone",
                   .repeats = true});
  visit(ab.graph_cap, OptionInfo{.name = "graph_cap",
                                 .group = "Arms",
                                 .value = "N",
                                 .help = "tokens of the largest step that may be a captured graph; below the arms' "
                                         "thresholds; 0: none",
                                 .range = {.least = 0}});
  visit(o.run.model, kModelInfo);
  visit(ab.json, OptionInfo{.name = "json",
                            .group = "Files",
                            .value = "FILE",
                            .help = "the result as JSON; scripts/report.py --ab draws it",
                            .absent = "none"});
  visit(ab.force, OptionInfo{.name = "force", .group = "Files", .help = "overwrite an existing result"});
  visit_ab_measures(o, visit);
  visit_texts(o, visit);
  visit_run(o, visit);
}

}  // namespace octet
