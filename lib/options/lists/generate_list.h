// The options of octet generate: its files, and how lines become requests (which octet render takes as well).
#pragma once

#include "options/lists/run_list.h"

namespace octet {

/// What a line asks for when it does not say itself.
template <class O, class Visit>
void visit_completions(O& o, Visit&& visit) {
  auto& r = o.request;
  constexpr std::string_view kGroup = "Completions (a line's own value goes first)";
  visit(r.max_tokens, OptionInfo{.name = "max_tokens",
                                 .group = kGroup,
                                 .value = "N",
                                 .help = "tokens of a completion, at most",
                                 .absent = "the rest of the context",
                                 .alias = "max_new_tokens",
                                 .range = kFromOne});
  visit(r.temperature, OptionInfo{.name = "temperature",
                                  .group = kGroup,
                                  .value = "T",
                                  .help = "0 takes the likeliest token, 1 samples as the model says",
                                  .absent = "generation_config.json",
                                  .range = {.least = 0}});
  visit(r.top_p, OptionInfo{.name = "top_p",
                            .group = kGroup,
                            .value = "P",
                            .help = "sample from the likeliest tokens of this total probability",
                            .absent = "generation_config.json",
                            .range = {.least = 0, .most = 1, .above_least = true}});
  visit(r.top_k, OptionInfo{.name = "top_k",
                            .group = kGroup,
                            .value = "K",
                            .help = "sample from the K likeliest tokens; 0 or -1: from all",
                            .absent = "generation_config.json",
                            .range = {.least = -1}});
  visit(r.seed,
        OptionInfo{.name = "seed", .group = kGroup, .value = "N", .help = "base of the seeds of lines without one"});
  visit(r.thinking,
        OptionInfo{.name = "thinking", .group = kGroup, .help = "whether messages are answered with reasoning"});
  visit(r.reasoning_effort, OptionInfo{.name = "reasoning_effort",
                                       .group = kGroup,
                                       .help = "how hard a thinking answer tries",
                                       .absent = "the release's own"});
  visit(r.repetition_stop, OptionInfo{.name = "repetition_stop",
                                      .group = kGroup,
                                      .value = "N",
                                      .help = "end a completion whose last N tokens repeat one piece; 0: never",
                                      .range = {.least = 0}});
}

/// How the text of lines is read.
template <class O, class Visit>
void visit_texts(O& o, Visit&& visit) {
  auto& r = o.request;
  constexpr std::string_view kGroup = "Texts";
  visit(r.bos, OptionInfo{.name = "bos", .group = kGroup, .help = "auto: put BOS before text prompts that lack it"});
  visit(r.encoding, OptionInfo{.name = "encoding",
                               .group = kGroup,
                               .help = "rules that turn messages into text; auto: the checkpoint's encoding folder"});
  visit(r.allow_special_tokens, OptionInfo{.name = "allow_special_tokens",
                                           .group = kGroup,
                                           .help = "special tokens written in messages are obeyed, not read as text"});
  visit(r.replace_invalid_utf8, OptionInfo{.name = "replace_invalid_utf8",
                                           .group = kGroup,
                                           .help = "read ill-formed UTF-8 as U+FFFD instead of failing the line"});
  visit(r.ignore_model,
        OptionInfo{.name = "ignore_model", .group = kGroup, .help = "accept bodies that name another model"});
  visit(r.strict,
        OptionInfo{.name = "strict", .group = kGroup, .help = "unknown keys of a body fail its line, not only warn"});
}

template <class O, class Visit>
void visit_generate(O& o, Visit&& visit) {
  auto& g = o.generate;
  constexpr std::string_view kBatch = "Batch";
  visit(o.run.model, kModelInfo);
  visit_files(g, "prompts: JSONL, a .txt file with one prompt per line, or - for stdin",
              "completions: JSONL, one line per prompt", visit);
  visit(g.resume, OptionInfo{.name = "resume", .group = "Files", .help = "go on with an interrupted output"});
  visit(g.retry_errors,
        OptionInfo{.name = "retry_errors", .group = "Files", .help = "resume, and run lines with errors again"});
  visit(g.unordered,
        OptionInfo{.name = "unordered", .group = "Files", .help = "leave the output in order of completion"});
  visit(g.summary, OptionInfo{.name = "summary",
                              .group = "Files",
                              .value = "FILE",
                              .help = "JSON summary of the run: tokens/s, percentiles, phases, memory",
                              .absent = "none"});
  visit(g.status_file, OptionInfo{.name = "status_file",
                                  .group = "Files",
                                  .value = "FILE",
                                  .help = "JSON status, replaced every few seconds while the run lasts",
                                  .absent = "none"});
  visit_completions(o, visit);
  visit_texts(o, visit);
  visit(g.fail_fast,
        OptionInfo{.name = "fail_fast", .group = kBatch, .help = "end the run at the first line with an error"});
  visit(g.max_errors, OptionInfo{.name = "max_errors",
                                 .group = kBatch,
                                 .value = "N",
                                 .help = "end the run when more than N lines have errors",
                                 .absent = "never",
                                 .range = {.least = 0}});
  visit(g.no_prefix_sharing,
        OptionInfo{.name = "no_prefix_sharing", .group = kBatch, .help = "compute a prefix again for every prompt"});
  visit(g.progress,
        OptionInfo{.name = "progress", .group = kBatch, .help = "auto: a line every few seconds; a bar; nothing"});
  visit(g.dry_run, OptionInfo{.name = "dry_run",
                              .group = kBatch,
                              .help = "check options, prompts and checkpoint, show the plan, run nothing"});
  visit_campaign(o, visit);
  visit_proof(o, visit);
  visit_run(o, visit);
}

}  // namespace octet
