// The options of the commands that are one process: they look at files or write them.
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

}  // namespace octet
