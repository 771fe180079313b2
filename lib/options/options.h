// Every option of every command, as plain structs with their defaults, and the one list that names them. The command
// line, YAML files, OCTET_* variables and the help text all walk that list (visit_options in option_list.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "options/tool_options.h"

namespace octet {

/// What is rounded where (golden/README.md): the mathematics, a GPU without fp8 units, or as the reference runs.
enum class Numerics { kExact, kWeightOnly, kOfficial };
enum class Backend { kAuto, kCpu, kCuda };
enum class Transport { kAuto, kMpi, kNccl, kIpc };
/// Whether BOS is prepended to text prompts that do not start with it.
enum class Bos { kAuto, kNever };
enum class LogLevel { kDebug, kInfo, kWarn, kError };
/// Whether a chat answer begins with reasoning (spec name: mode of the encoder).
enum class Thinking { kChat, kThinking };
/// How hard a thinking answer tries; what a tier says depends on the release.
enum class Effort { kLow, kHigh, kMax };
/// The rules that turn messages into text: of V4-Flash, or of the 0731 release. kAuto: the checkpoint's encoding
/// folder.
enum class Encoding { kAuto, kV4, k0731 };
enum class ProgressStyle { kAuto, kBar, kNone };

/// What is done with a batch whose values stopped being finite: end the run, or only its items.
enum class OnNan { kStop, kItemError };

/// What the campaign changes: the form of the layers' sums, and who computes the hyper-connection mixes. Each part can
/// be turned on by itself, in every --numerics; octet ab compares them.
struct CampaignOptions {
  bool ar_int8 = false;                        ///< sums of large steps travel as int8 codes
  int64_t ar_int8_min_tokens = 2048;           ///< smallest step for it, inclusive
  bool mhc_post_sqrsum = false;                ///< hc_post also yields the row sums of squares of the next mix
  bool mhc_prenorm_shard = false;              ///< ranks share the rows of the mix; needs mhc_post_sqrsum
  int64_t mhc_prenorm_shard_min_tokens = 512;  ///< smallest step for it, inclusive
  bool operator==(const CampaignOptions&) const = default;
};

/// How the program runs, whatever the command.
struct RunOptions {
  std::string model;                 ///< checkpoint folder
  std::optional<Numerics> numerics;  ///< empty: official on the CPU
  Backend backend = Backend::kAuto;
  Transport transport = Transport::kAuto;
  int64_t prefill_chunk = 8192;        ///< tokens of prompts in one step, at most
  int64_t max_batch = 16;              ///< sequences in flight
  std::optional<int64_t> max_seq_len;  ///< tokens of prompt + completion; empty: the model's limit
  double timeout = 60;                 ///< seconds a rank may keep the others waiting in a collective
  int64_t pp = 1;                      ///< pipeline stages; ranks = tensor-parallel ranks x stages
  int64_t graph_cap = 96;              ///< tokens of the largest step that may run as a captured graph; 0: none
  CampaignOptions campaign;
  bool selfcheck = true;  ///< prove the sums and the campaign's paths before the first step
  std::string verify;     ///< "replicas" or "replicas=N": compare the ranks' sums in the first N steps; empty: never
  OnNan on_nan = OnNan::kStop;
};

/// How lines become requests; a line's own value goes first where it has one.
struct RequestOptions {
  std::optional<int64_t> max_tokens;  ///< empty: the rest of the context
  std::optional<double> temperature;  ///< empty: generation_config.json
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
  uint64_t seed = 0;  ///< base of the per-line seeds of lines without one
  Bos bos = Bos::kAuto;
  Encoding encoding = Encoding::kAuto;
  Thinking thinking = Thinking::kChat;
  std::optional<Effort> reasoning_effort;  ///< empty: none given
  bool allow_special_tokens = false;       ///< special tokens in messages are control tokens
  bool replace_invalid_utf8 = false;       ///< else such a line is an error
  bool ignore_model = false;               ///< accept any "model" in a body
  bool strict = false;                     ///< unknown keys of a body are errors, not warnings
  int64_t repetition_stop = 0;             ///< tokens that must repeat; 0: off
};

/// `octet generate`.
struct GenerateOptions {
  std::string input;        ///< JSONL, .txt (a prompt a line) or "-"
  std::string output;       ///< JSONL
  std::string summary;      ///< run summary (JSON), empty for none
  std::string status_file;  ///< replaced every few seconds, empty for none
  bool force = false;       ///< overwrite an existing output
  bool resume = false;      ///< go on with an interrupted output
  bool retry_errors = false;
  bool unordered = false;             ///< leave the output in order of completion
  bool fail_fast = false;             ///< end at the first line with an error
  std::optional<int64_t> max_errors;  ///< end when more lines than this have errors
  bool no_prefix_sharing = false;
  bool dry_run = false;
  ProgressStyle progress = ProgressStyle::kAuto;
};

/// `octet score`.
struct ScoreOptions {
  std::string input;             ///< JSONL or "-"
  std::string output;            ///< JSONL
  bool force = false;            ///< overwrite existing outputs
  std::string dump_logits;       ///< safetensors file, empty for none
  std::string dump_streams;      ///< safetensors file, empty for none
  std::optional<int64_t> split;  ///< tokens fed as prefill; empty: the prompt
};

/// `octet render`.
struct RenderOptions {
  std::string input;   ///< as for generate
  std::string output;  ///< JSONL; empty for stdout
  bool force = false;  ///< overwrite an existing output
};

struct Options {
  /// By name, where the value was written: "--max-batch", "OCTET_MAX_BATCH" or "run.yaml:3"; absent for defaults.
  std::map<std::string, std::string> places;
  std::string config;  ///< YAML file with the same keys, empty for none
  LogLevel log_level = LogLevel::kInfo;
  RunOptions run;
  RequestOptions request;
  GenerateOptions generate;
  ScoreOptions score;
  RenderOptions render;
  SynthOptions synth;
  PlanOptions plan;
  DoctorOptions doctor;
  ReplayOptions replay;
  TokenizeOptions tokenize;
  ParseOptions parse;
  AbOptions ab;
  BenchOptions bench;
};

/// What the program is asked to do; each command has its own list of options (option_list.h).
enum class Command {
  kGenerate,
  kScore,
  kRender,
  kInspect,
  kSynth,
  kTokenize,
  kParse,
  kPlan,
  kDoctor,
  kReplay,
  kAb,
  kBench
};
inline constexpr Command kCommands[] = {Command::kGenerate, Command::kScore,  Command::kAb,       Command::kRender,
                                        Command::kInspect,  Command::kSynth,  Command::kTokenize, Command::kParse,
                                        Command::kPlan,     Command::kDoctor, Command::kReplay,   Command::kBench};

}  // namespace octet
