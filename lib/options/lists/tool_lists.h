// The options of the commands around a run: they look at files and machines, or write files.
#pragma once

#include "options/lists/run_list.h"

namespace octet {

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
void visit_tokenize(O& o, Visit&& visit) {
  auto& t = o.tokenize;
  visit(o.run.model, kModelInfo);
  visit_files(t, "JSONL lines {text}, with --decode {ids}; or - for stdin", "JSONL lines {ids} or {text}; - for stdout",
              visit);
  visit(t.decode,
        OptionInfo{.name = "decode", .group = "Texts", .help = "ids become text, special tokens written out"});
  visit(t.plain_text, OptionInfo{.name = "plain_text",
                                 .group = "Texts",
                                 .help = "special tokens written in a text are read as text, not obeyed"});
}

template <class O, class Visit>
void visit_parse(O& o, Visit&& visit) {
  visit_files(o.parse, "JSONL lines {text, thinking?, tools?} or the output of a run; or - for stdin",
              "JSONL lines {message, parse_status}; - for stdout", visit);
}

inline constexpr OptionInfo kJsonInfo = {
    .name = "json", .group = "Output", .help = "JSON for programs on stdout, instead of text for people"};

template <class O, class Visit>
void visit_plan(O& o, Visit&& visit) {
  auto& p = o.plan;
  visit(o.run.model, kModelInfo);
  visit(p.ranks, OptionInfo{.name = "ranks",
                            .group = "Machine",
                            .value = "N",
                            .help = "ranks to plan for: 1, 2, 4 or 8",
                            .range = kFromOne});
  visit(p.card_gib, OptionInfo{.name = "card_gib",
                               .group = "Machine",
                               .value = "G",
                               .help = "memory of a rank, in GiB",
                               .range = {.least = 0, .above_least = true}});
  visit(p.json, kJsonInfo);
  visit_campaign(o, visit);
  visit_run(o, visit);
}

template <class O, class Visit>
void visit_bench(O& o, Visit&& visit) {
  auto& b = o.bench;
  constexpr std::string_view kGroup = "Measuring";
  visit(b.target, OptionInfo{.name = "target",
                             .group = kGroup,
                             .help = "what is timed: the sums of a layer's ranks; may stand without its flag",
                             .required = true});
  visit(b.tokens,
        OptionInfo{.name = "tokens", .group = kGroup, .value = "N,N,...", .help = "rows of a sum", .range = kFromOne});
  visit(b.hidden, OptionInfo{.name = "hidden",
                             .group = kGroup,
                             .value = "N",
                             .help = "columns of a sum, a multiple of 32",
                             .range = {.least = 32}});
  visit(b.repeat, OptionInfo{.name = "repeat",
                             .group = kGroup,
                             .value = "N",
                             .help = "counted repetitions of every size and form, after one that is not",
                             .range = kFromOne});
  visit(b.seed, OptionInfo{.name = "seed", .group = kGroup, .value = "N", .help = "seed of the random addends"});
  visit(b.json,
        OptionInfo{.name = "json", .group = "Files", .value = "FILE", .help = "the figures as JSON", .absent = "none"});
  visit(b.force, OptionInfo{.name = "force", .group = "Files", .help = "overwrite an existing result"});
  visit(o.run.transport, OptionInfo{.name = "transport", .group = "Running", .help = "how ranks exchange int8 sums"});
  visit_program(o, visit);
}

template <class O, class Visit>
void visit_doctor(O& o, Visit&& visit) {
  visit(o.doctor.model, OptionInfo{.name = "model",
                                   .group = "Files",
                                   .letter = 'm',
                                   .value = "DIR",
                                   .help = "checkpoint folder to look at, and to plan the memory of",
                                   .absent = "none"});
  visit(o.doctor.json, kJsonInfo);
  visit_run(o, visit);
}

template <class O, class Visit>
void visit_replay(O& o, Visit&& visit) {
  auto& r = o.replay;
  visit(r.record, OptionInfo{.name = "record",
                             .group = "Files",
                             .value = "RUN.json",
                             .help = "OUT.run.json of the run to repeat; may stand without its flag",
                             .required = true});
  visit(r.output, OptionInfo{.name = "output",
                             .group = "Files",
                             .letter = 'o',
                             .value = "FILE",
                             .help = "completions of the repetition",
                             .absent = "the record's"});
  visit(r.force, OptionInfo{.name = "force", .group = "Files", .help = "overwrite existing output files"});
}

}  // namespace octet
