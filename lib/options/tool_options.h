// The options of the commands around a run, as plain structs with their defaults; those of a run are in options.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// What octet ab times.
enum class AbMode { kPrefill, kDecode, kGenerate };

/// `octet synth`.
struct SynthOptions {
  std::string config;  ///< a config.json
  uint64_t seed = 0;
  std::string output;  ///< folder to write
};

/// `octet tokenize`.
struct TokenizeOptions {
  std::string input;        ///< JSONL or "-"
  std::string output;       ///< JSONL or "-"
  bool force = false;       ///< overwrite an existing output
  bool decode = false;      ///< ids to text instead
  bool plain_text = false;  ///< special tokens written in a text are text
};

/// `octet parse`.
struct ParseOptions {
  std::string input;   ///< JSONL or "-"
  std::string output;  ///< JSONL or "-"
  bool force = false;  ///< overwrite an existing output
};

/// `octet plan`.
struct PlanOptions {
  int64_t ranks = 8;
  double card_gib = 80;  ///< memory of a rank
  bool json = false;
};

/// `octet doctor`.
struct DoctorOptions {
  std::string model;  ///< empty: the model is not looked at
  bool json = false;
};

/// `octet replay`.
struct ReplayOptions {
  std::string record;  ///< OUT.run.json of an earlier run
  std::string output;  ///< empty: the record's own
  bool force = false;
};

/// `octet ab`. Not in the list of options: the arms' campaign flags, which stand in `arms`.
struct AbOptions {
  std::optional<AbMode> mode;
  std::string arms;                            ///< NAME:FLAG=VALUE,... with ; or blanks between them (ab_arms.h)
  std::string json;                            ///< result file, empty for none
  bool force = false;                          ///< overwrite an existing result
  int64_t repeat = 10;                         ///< counted repetitions of each length or concurrency
  int64_t graph_cap = 0;                       ///< as RunOptions'; its own default lets arms have any threshold
  uint64_t seed = 0;                           ///< of the prompts of prefill and decode
  std::vector<int64_t> lengths = {256, 1024};  ///< prefill: tokens of a prompt
  int64_t context = 1024;                      ///< decode: tokens of each sequence before the first step
  std::vector<int64_t> concurrency = {1, 4};   ///< decode: sequences
  int64_t steps = 32;                          ///< decode: timed steps
  std::string input;                           ///< generate: prompts
  int64_t max_tokens = 64;                     ///< generate: of lines without their own
};

/// What octet bench times.
enum class BenchTarget { kReduce };

/// `octet bench`.
struct BenchOptions {
  std::optional<BenchTarget> target;
  std::vector<int64_t> tokens = {1, 16, 64, 256, 1024, 2048, 8192};  ///< rows of a sum
  int64_t hidden = 4096;                                             ///< columns
  int64_t repeat = 10;                                               ///< counted repetitions of every size and form
  uint64_t seed = 0;                                                 ///< of the addends
  std::string json;                                                  ///< result file, empty for none
  bool force = false;                                                ///< overwrite an existing result
};

}  // namespace octet
