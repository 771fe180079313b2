// See ab_plan.h.
#include "engine/ab_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/batch.h"
#include "options/option_words.h"
#include "options/resolve.h"

namespace octet {
namespace {

struct ModeOption {
  std::string_view name;
  std::vector<AbMode> modes;
};

const std::array kModeOptions = {ModeOption{"repeat", {AbMode::kPrefill, AbMode::kDecode}},
                                 ModeOption{"seed", {AbMode::kPrefill, AbMode::kDecode}},
                                 ModeOption{"lengths", {AbMode::kPrefill}},
                                 ModeOption{"context", {AbMode::kDecode}},
                                 ModeOption{"concurrency", {AbMode::kDecode}},
                                 ModeOption{"steps", {AbMode::kDecode}},
                                 ModeOption{"input", {AbMode::kGenerate}},
                                 ModeOption{"max_tokens", {AbMode::kGenerate}},
                                 ModeOption{"bos", {AbMode::kGenerate}},
                                 ModeOption{"encoding", {AbMode::kGenerate}},
                                 ModeOption{"allow_special_tokens", {AbMode::kGenerate}},
                                 ModeOption{"replace_invalid_utf8", {AbMode::kGenerate}},
                                 ModeOption{"ignore_model", {AbMode::kGenerate}},
                                 ModeOption{"strict", {AbMode::kGenerate}}};

std::string_view mode_word(AbMode mode) {
  for (const auto& [word, value] : enum_words(AbMode{})) {
    if (value == mode) return word;
  }
  return "?";
}

/// The longest sequence of prefill or decode.
int64_t longest_of(const AbOptions& ab) {
  if (ab.mode == AbMode::kDecode) return ab.context + ab.steps;
  return *std::max_element(ab.lengths.begin(), ab.lengths.end());
}

int64_t most_sequences(const AbOptions& ab) {
  if (ab.mode == AbMode::kDecode) return *std::max_element(ab.concurrency.begin(), ab.concurrency.end());
  return 1;
}

}  // namespace

void check_ab(const Options& options, int64_t max_seq_len) {
  const AbOptions& ab = options.ab;
  for (const ModeOption& option : kModeOptions) {
    const auto place = options.places.find(std::string(option.name));
    if (place == options.places.end()) continue;
    if (std::find(option.modes.begin(), option.modes.end(), *ab.mode) != option.modes.end()) continue;
    throw Error(Code::kUsage, fmt::format("{}: octet ab {} has no such option, it belongs to octet ab {}",
                                          place->second, mode_word(*ab.mode), mode_word(option.modes.front())));
  }
  if (ab.mode == AbMode::kGenerate) {
    if (ab.input.empty()) throw Error(Code::kUsage, "ab generate needs --input FILE (see octet ab --help)");
    return;
  }
  if (most_sequences(ab) > options.run.max_batch) {
    throw Error(Code::kUsage,
                fmt::format("--concurrency {} is above --max-batch {}", most_sequences(ab), options.run.max_batch));
  }
  if (longest_of(ab) > max_seq_len) {
    throw Error(Code::kUsage, fmt::format("{} {}: sequences may have {} tokens",
                                          ab.mode == AbMode::kDecode ? "--context and --steps add up to" : "--lengths",
                                          longest_of(ab), max_seq_len));
  }
}

RunnerCapacity ab_capacity(int64_t sequences, int64_t longest, int64_t max_seq_len) {
  return {
      .slots = sequences, .pages = sequences * ((longest + kPageTokens - 1) / kPageTokens), .max_seq_len = max_seq_len};
}

RunnerCapacity ab_capacity(const Options& options, int64_t max_seq_len) {
  return ab_capacity(most_sequences(options.ab), longest_of(options.ab), max_seq_len);
}

}  // namespace octet
