// The options of octet render: its files, and everything of generate that decides what a line feeds the model.
#pragma once

#include "options/lists/generate_list.h"

namespace octet {

template <class O, class Visit>
void visit_render(O& o, Visit&& visit) {
  auto& r = o.render;
  visit(o.run.model, kModelInfo);
  visit(r.input, OptionInfo{.name = "input",
                            .group = "Files",
                            .letter = 'i',
                            .value = "FILE",
                            .help = "lines as for generate: JSONL, a .txt file, or - for stdin",
                            .required = true});
  visit(r.output, OptionInfo{.name = "output",
                             .group = "Files",
                             .letter = 'o',
                             .value = "FILE",
                             .help = "JSONL, one line per prompt: the text and the token ids it feeds",
                             .absent = "stdout"});
  visit(r.force, OptionInfo{.name = "force", .group = "Files", .help = "overwrite an existing output file"});
  visit_completions(o, visit);
  visit_texts(o, visit);
}

}  // namespace octet
