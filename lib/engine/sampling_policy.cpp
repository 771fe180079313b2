// Pure but for one small file.
#include "engine/sampling_policy.h"

#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace octet {
namespace {

/// The file's text; nothing if there is no such file.
std::optional<std::string> text_of(const std::string& path) {
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) throw Error(Code::kCheckpoint, fmt::format("cannot open {}", path));
  std::string text;
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, got);
  if (std::ferror(file.get())) throw Error(Code::kCheckpoint, fmt::format("cannot read {}", path));
  return text;
}

/// The number `key` of the file; `fallback` when it is absent or null.
double number(const Json& object, std::string_view key, double lowest, double highest, double fallback,
              const std::string& path) {
  const Json* value = object.find(key);
  if (!value || value->is(Json::Kind::kNull)) return fallback;
  const std::optional<double> x = value->as_double();
  if (!x || !(*x >= lowest && *x <= highest)) {
    throw Error(Code::kCheckpoint, fmt::format("{}: {}: expected a number from {} to {}, found {}", path, key, lowest,
                                               highest, value->dump()));
  }
  return *x;
}

uint64_t splitmix64(uint64_t x) {
  uint64_t z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

SamplingDefaults read_generation_config(const std::string& model_dir) {
  const std::string path = model_dir + "/generation_config.json";
  const std::optional<std::string> text = text_of(path);
  if (!text) return {.source = "there is no generation_config.json"};
  Json object;
  try {
    object = parse_json(*text, path);
  } catch (const Error& e) {
    throw Error(Code::kCheckpoint, e.what());
  }
  if (!object.is(Json::Kind::kObject)) throw Error(Code::kCheckpoint, path + ": expected an object");
  const Json* do_sample = object.find("do_sample");
  if (!do_sample || !do_sample->is(Json::Kind::kBool) || !do_sample->boolean) {
    return {.source = "generation_config.json: do_sample is not true"};
  }
  constexpr double kMaxTopK = std::numeric_limits<int32_t>::max();
  constexpr double kSmallestTopP = std::numeric_limits<float>::min();
  return {.temperature = number(object, "temperature", 0, std::numeric_limits<float>::max(), 1, path),
          .top_p = number(object, "top_p", kSmallestTopP, 1, 1, path),
          .top_k = static_cast<int64_t>(number(object, "top_k", 0, kMaxTopK, 0, path)),
          .source = "generation_config.json"};
}

SamplingDefaults with_flags(SamplingDefaults defaults, const RequestOptions& flags) {
  if (flags.temperature) {
    defaults.temperature = *flags.temperature;
    defaults.source = "--temperature";
  }
  defaults.top_p = flags.top_p.value_or(defaults.top_p);
  defaults.top_k = flags.top_k.value_or(defaults.top_k);
  return defaults;
}

ops::SampleParams sampling_of(const Prompt& prompt, const SamplingDefaults& defaults, uint64_t base_seed) {
  return {.temperature = static_cast<float>(prompt.temperature.value_or(defaults.temperature)),
          .top_p = static_cast<float>(prompt.top_p.value_or(defaults.top_p)),
          .min_p = static_cast<float>(prompt.min_p.value_or(0)),
          .top_k = static_cast<int32_t>(prompt.top_k.value_or(defaults.top_k)),
          .repetition_penalty = static_cast<float>(prompt.repetition_penalty.value_or(1)),
          .presence_penalty = static_cast<float>(prompt.presence_penalty.value_or(0)),
          .frequency_penalty = static_cast<float>(prompt.frequency_penalty.value_or(0)),
          .seed = prompt.seed ? *prompt.seed : derived_seed(base_seed, id_text(prompt.id))};
}

uint64_t derived_seed(uint64_t base, std::string_view id) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return splitmix64(hash ^ splitmix64(base));
}

}  // namespace octet
