// The one list that names every option of every command: spelling, unit, range, default and help. It is walked to read
// flags, OCTET_* variables and YAML keys (resolve.cpp), to print the help and to show resolved values.
#pragma once

#include "options/lists/ab_list.h"
#include "options/lists/generate_list.h"
#include "options/lists/render_list.h"
#include "options/lists/run_list.h"
#include "options/lists/score_list.h"
#include "options/lists/tool_lists.h"
#include "options/options.h"

namespace octet {

/// Calls visit(member, OptionInfo) for every option that `command` takes, in the order of its help.
template <class O, class Visit>
void visit_options(Command command, O& o, Visit&& visit) {
  switch (command) {
    case Command::kGenerate: return visit_generate(o, visit);
    case Command::kScore: return visit_score(o, visit);
    case Command::kRender: return visit_render(o, visit);
    case Command::kInspect: return visit(o.run.model, kModelInfo);
    case Command::kSynth: return visit_synth(o, visit);
    case Command::kPlan: return visit_plan(o, visit);
    case Command::kDoctor: return visit_doctor(o, visit);
    case Command::kAb: return visit_ab(o, visit);
    case Command::kBench: return visit_bench(o, visit);
    case Command::kReplay: return visit_replay(o, visit);
    case Command::kTokenize: return visit_tokenize(o, visit);
    case Command::kParse: return visit_parse(o, visit);
  }
}

}  // namespace octet
