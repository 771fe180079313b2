// See golden_run.h. Everything goes through the program: synth writes the checkpoint, score reads it.
#include "tests/golden/golden_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace octet::test {
namespace {

TempFolder& models() {
  static TempFolder folder;
  return folder;
}

/// The prompts of at most c.longest tokens.
std::vector<std::string> chosen_prompts(const Tensors& golden, const GoldenCase& c) {
  std::vector<std::string> names;
  for (const std::string& p : prompts(golden)) {
    if (golden.shape(p + ".prompt")[0] <= c.longest) names.push_back(p);
  }
  return names;
}

std::string seed_of(const std::string& config) {
  if (config == "tiny") return "7";
  return config == "tiny-dspark" ? "11" : "13";
}

template <class T>
Json ids(const std::vector<T>& tokens, size_t count) {
  Json list = Json::array();
  for (size_t i = 0; i < count; ++i) list.push(static_cast<int64_t>(tokens[i]));
  return list;
}

void write_score_input(const std::string& path, const Tensors& golden, const std::vector<std::string>& names) {
  std::ofstream out(path);
  for (const std::string& p : names) {
    const auto prompt = golden.values<int32_t>(p + ".prompt");
    const auto fed = golden.values<int32_t>(p + ".decode_fed");
    Json line = Json::object();
    line.set("id", p);
    line.set("prompt_token_ids", ids(prompt, prompt.size()));
    line.set("continuation_token_ids", ids(fed, fed.size() - 1));
    out << line.dump() << "\n";
  }
}

/// The recorded rows in the dump's order: the last prompt row, then every decode step.
std::vector<float> recorded_logits(const Tensors& golden, const std::string& p) {
  std::vector<float> rows;
  for (const auto& [name, entry] : golden.entries()) {
    if (name.rfind(p + ".prefill_logits_last", 0) != 0) continue;
    const auto prefill = golden.values<float>(name);
    rows.assign(prefill.end() - entry.tensor.shape[1], prefill.end());
  }
  const auto decode = golden.values<float>(p + ".decode_logits");
  rows.insert(rows.end(), decode.begin(), decode.end());
  return rows;
}

}  // namespace

bool long_lane() {
  const char* value = std::getenv("OCTET_TEST_LONG");
  return value != nullptr && std::string(value) == "1";
}

std::vector<std::string> prompts(const Tensors& golden) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : golden.entries()) {
    if (const size_t dot = name.find(".prompt"); dot != std::string::npos) names.push_back(name.substr(0, dot));
  }
  return names;
}

std::string synthetic_model(const std::string& config) {
  const std::string folder = models().path() + "/" + config;
  if (!std::filesystem::exists(folder + "/config.json")) {
    const Outcome made = octet_alone("synth --config " + data_path("golden/configs/" + config + ".json") + " --seed " +
                                     seed_of(config) + " -o " + folder);
    EXPECT_EQ(made.code, 0) << made.err;
  }
  return folder;
}

double run_prefill_rows(const GoldenCase& c, const std::string& prompt) {
  const Tensors golden(data_path("golden/" + c.config + "." + c.numerics + ".safetensors"));
  const auto tokens = golden.values<int32_t>(prompt + ".prompt");
  std::vector<float> recorded;
  size_t rows = 0;
  for (const auto& [name, entry] : golden.entries()) {
    if (name.rfind(prompt + ".prefill_logits_last", 0) != 0) continue;
    recorded = golden.values<float>(name);
    rows = static_cast<size_t>(entry.tensor.shape[0]);
  }
  // The row of token i follows it, so the first recorded row is the last of the "prompt" and the rest continue it.
  const size_t given = tokens.size() - rows + 1;
  Json line = Json::object();
  line.set("id", prompt);
  line.set("prompt_token_ids", ids(tokens, given));
  line.set("continuation_token_ids",
           ids(std::vector<int32_t>(tokens.begin() + static_cast<std::ptrdiff_t>(given), tokens.end()), rows - 1));
  const TempFolder work;
  write_file(work.path() + "/in.jsonl", line.dump() + "\n");
  const Outcome run = octet_on(
      c.ranks, "score -m " + synthetic_model(c.config) + " -i " + work.path() + "/in.jsonl -o " + work.path() +
                   "/out.jsonl --numerics " + c.numerics + " --prefill-chunk " + std::to_string(c.chunk) + " --split " +
                   std::to_string(tokens.size()) + " --dump-logits " + work.path() + "/logits.safetensors");
  EXPECT_EQ(run.code, 0) << run.err;
  if (run.code != 0) return INFINITY;
  return relative_l2(Tensors(work.path() + "/logits.safetensors").values<float>(prompt + ".logits"), recorded);
}

GoldenDistances run_golden(const GoldenCase& c, const std::string& environment) {
  const Tensors golden(data_path("golden/" + c.config + "." + c.numerics + ".safetensors"));
  const TempFolder work;
  const std::string logits_path = work.path() + "/logits.safetensors", streams_path = work.path() + "/s.safetensors";
  const std::vector<std::string> names = chosen_prompts(golden, c);
  write_score_input(work.path() + "/in.jsonl", golden, names);
  const std::string arguments = "score -m " + synthetic_model(c.config) + " -i " + work.path() + "/in.jsonl -o " +
                                work.path() + "/out.jsonl --numerics " + c.numerics + " --prefill-chunk " +
                                std::to_string(c.chunk) + " --dump-logits " + logits_path +
                                (c.streams ? " --dump-streams " + streams_path : "") + " " + c.flags;
  const Outcome run = octet_on(c.ranks, arguments, environment);
  EXPECT_EQ(run.code, 0) << run.err;
  GoldenDistances distances;
  if (run.code != 0) return distances;
  distances.log = run.err;
  distances.dump = read_file(logits_path);
  const Tensors logits(logits_path);
  for (const std::string& p : names) {
    const double d = relative_l2(logits.values<float>(p + ".logits"), recorded_logits(golden, p));
    if (d >= worst(distances.logits) || distances.logits.empty()) distances.worst_logits = p;
    distances.logits.push_back(d);
    if (!c.streams) continue;
    const Tensors streams(streams_path);
    for (size_t layer = 0;; ++layer) {
      const std::string name = p + ".layer" + std::to_string(layer) + ".last";
      if (!golden.has(name)) break;
      distances.layers.resize(std::max(distances.layers.size(), layer + 1));
      distances.layers[layer].push_back(relative_l2(streams.values<float>(name), golden.values<float>(name)));
    }
  }
  return distances;
}

}  // namespace octet::test
