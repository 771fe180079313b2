// The options of octet score.
#pragma once

#include "options/lists/run_list.h"

namespace octet {

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
  visit_campaign(o, visit);
  visit_proof(o, visit);
  visit_run(o, visit);
}

}  // namespace octet
