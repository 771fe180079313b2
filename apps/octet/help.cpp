// See help.h.
#include "help.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "options/option_words.h"
#include "options/resolve.h"

namespace octet {
namespace {

constexpr size_t kFlagColumn = 36;

struct CommandText {
  std::string_view does;
  std::string_view examples;
  std::string_view notes;
};

constexpr std::string_view kSharedNotes =
    "Every option can also stand in the --config file (max_batch: 8) or in the environment (OCTET_MAX_BATCH=8);\n"
    "flags win over variables, variables over the file. Ranks: 1, 2, 4 or 8, by mpirun; without it, one.\n";

constexpr std::string_view kAbNotes =
    "An arm's flags are ar_int8, ar_int8_min_tokens=N, mhc_post_sqrsum, mhc_prenorm_shard,\n"
    "mhc_prenorm_shard_min_tokens=N; the others have their defaults. The first arm is the reference; without an arm\n"
    "called control, one is put first. The reference also runs as the hidden arm null: when it differs from itself\n"
    "there is no verdict. The exit code is 0 whatever the verdict.\n"
    "Every option can also stand in the --config file (repeat: 10) or in the environment (OCTET_REPEAT=10).\n";

constexpr CommandText kAbText = {
    "compare the campaign's flags in one process: prefill, decode or generate",
    "  mpirun -np 8 octet ab prefill -m MODEL --arm control: --arm int8:ar_int8 --lengths 8192 --json ab.json\n"
    "  mpirun -np 8 octet ab decode -m MODEL --arm int8:ar_int8,ar_int8_min_tokens=1 --concurrency 1,4\n"
    "  mpirun -np 8 octet ab generate -m MODEL --arm int8:ar_int8 -i prompts.jsonl --max-tokens 64\n",
    kAbNotes};

constexpr CommandText kBenchText = {
    "time the sums of a layer's ranks by size and form",
    "  mpirun -np 8 octet bench reduce\n"
    "  mpirun -np 8 octet bench reduce --tokens 2048,8192 --transport mpi --json reduce.json\n",
    "Needs two ranks or more and no model. Times are the slowest rank's; the error is against an fp64 sum.\n"};

CommandText command_text(Command command) {
  switch (command) {
    case Command::kGenerate:
      return {"complete the prompts of a file",
              "  mpirun -np 8 octet generate -m MODEL -i prompts.jsonl -o completions.jsonl\n"
              "  mpirun -np 8 octet generate -m MODEL -i prompts.txt -o out.jsonl --max-tokens 200 --summary run.json\n"
              "  octet generate -m MODEL -i - -o out.jsonl --temperature 0 < prompts.jsonl\n",
              kSharedNotes};
    case Command::kScore:
      return {"log-probabilities of given continuations",
              "  mpirun -np 8 octet score -m MODEL -i pairs.jsonl -o scores.jsonl\n"
              "  octet score -m MODEL -i pairs.jsonl -o scores.jsonl --dump-logits logits.safetensors --split 1\n",
              kSharedNotes};
    case Command::kAb: return kAbText;
    case Command::kBench: return kBenchText;
    case Command::kRender:
      return {"the exact text and token ids that a line feeds the model",
              "  octet render -m MODEL -i prompts.jsonl\n"
              "  octet render -m MODEL -i chats.jsonl -o rendered.jsonl --thinking thinking --reasoning-effort max\n",
              "Runs as one process, without mpirun, and reads no weights. A bad line becomes {\"error\": ...}.\n"};
    case Command::kInspect:
      return {"list the tensors of a checkpoint from the headers alone", "  octet inspect -m MODEL\n",
              "Runs as one process, without mpirun.\n"};
    case Command::kPlan:
      return {"memory that a run needs, and what fits a card",
              "  octet plan -m MODEL\n"
              "  octet plan -m MODEL --ranks 8 --card-gib 141 --max-seq-len 131072 --numerics weight_only\n",
              "Runs as one process, without mpirun, device or weights: headers are enough, and without shards "
              "config.json.\n"};
    case Command::kDoctor:
      return {"check machine, launcher and model; say what to fix",
              "  octet doctor\n"
              "  mpirun -np 8 octet doctor -m MODEL\n",
              "Lines begin with OK, WARN or FAIL; with a FAIL the exit code is 6. Under mpirun it also runs a "
              "collective.\n"};
    case Command::kReplay:
      return {
          "repeat the run of a record", "  mpirun -np 8 octet replay completions.jsonl.run.json -o again.jsonl\n",
          "Prints what differs from the recorded run: version, environment, model. Needs the same number of ranks.\n"};
    case Command::kSynth:
      return {"write a synthetic checkpoint", "  octet synth --config config.json --seed 7 -o DIR\n",
              "Runs as one process, without mpirun. Here --config is the model's config.json.\n"};
    case Command::kTokenize:
      return {"texts to token ids, or back with --decode",
              "  octet tokenize -m MODEL -i texts.jsonl -o ids.jsonl\n"
              "  echo '{\"text\": \"Hello\"}' | octet tokenize -m MODEL -i - -o -\n",
              "Runs as one process, without mpirun. A bad line becomes {\"error\": ...}. BOS is never added.\n"};
    case Command::kParse:
      return {
          "completions to messages: reasoning, content, tool calls",
          "  octet parse -i completions.jsonl -o messages.jsonl\n",
          "Runs as one process, without mpirun. A bad line becomes {\"error\": ...}. parse_status is \"strict\" or\n"
          "says what was lenient.\n"};
  }
  return {};
}

std::string flag_text(const OptionRow& row) {
  const OptionInfo& info = row.info;
  std::string text = info.letter != 0 ? fmt::format("-{}, ", info.letter) : "    ";
  text += flag_name(info.name);
  if (!info.alias.empty()) text += ", " + flag_name(info.alias);
  std::string value(info.value);
  for (const std::string_view word : row.words) value += fmt::format("{}{}", value.empty() ? "" : "|", word);
  return value.empty() ? text : fmt::format("{} {}", text, value);
}

std::string default_text(const OptionRow& row) {
  if (row.info.required) return "required";
  if (row.is_switch) return "";
  const std::string value = row.text();
  return fmt::format("default: {}", value.empty() ? std::string(row.info.absent) : value);
}

std::string option_line(const OptionRow& row) {
  const std::string flag = flag_text(row);
  const std::string fallback = default_text(row);
  const std::string help =
      fallback.empty() ? std::string(row.info.help) : fmt::format("{} ({})", row.info.help, fallback);
  if (flag.size() < kFlagColumn - 1) return fmt::format("  {:<{}}{}\n", flag, kFlagColumn, help);
  return fmt::format("  {}\n  {:<{}}{}\n", flag, "", kFlagColumn, help);
}

}  // namespace

std::string program_help() {
  std::string text =
      "octet - offline batch inference for DeepSeek-V4-Flash, one MPI rank per device\n\n"
      "Examples:\n"
      "  mpirun -np 8 octet generate -m MODEL -i prompts.jsonl -o completions.jsonl\n"
      "  octet inspect -m MODEL\n\n"
      "Commands:\n";
  for (const Command command : kCommands) {
    text += fmt::format("  {:<12}{}\n", command_name(command), command_text(command).does);
  }
  text +=
      "  help        this text, or that of a command: octet help generate\n"
      "  config      every option's value and origin: octet config show --origin [COMMAND] [flags]\n"
      "\nOptions:\n"
      "  -h, --help  this text; octet COMMAND --help lists the options of a command\n"
      "  --version   what was built\n\n"
      "Exit codes:\n"
      "  0 done   1 internal error   2 usage or configuration   3 done, but some lines ended with an error\n"
      "  4 input unusable   5 checkpoint unusable   6 environment (device, launcher, MPI)   7 does not fit in memory\n"
      "  8 a rank keeps the others waiting   9 wrong numbers (logits that are not finite, ranks that disagree)\n"
      "  10 interrupted by a signal; --resume goes on\n";
  return text;
}

std::string command_help(Command command) {
  const CommandText about = command_text(command);
  Options defaults;
  const std::vector<OptionRow> rows = option_rows(command, defaults);
  std::string text = fmt::format("octet {} - {}\n\nExamples:\n{}", command_name(command), about.does, about.examples);
  std::vector<std::string_view> groups;
  for (const OptionRow& row : rows) {
    if (std::find(groups.begin(), groups.end(), row.info.group) == groups.end()) groups.push_back(row.info.group);
  }
  for (const std::string_view group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionRow& row : rows) {
      if (row.info.group == group) text += option_line(row);
    }
  }
  text += fmt::format("\n{}", about.notes);
  return text;
}

}  // namespace octet
