// Keys are a contract with whoever reads the file; values of options are the texts a user would write.
#include "engine/run_record.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/replace_file.h"
#include "base/sha256.h"
#include "options/option_effect.h"
#include "options/option_words.h"
#include "options/recorded_environment.h"
#include "options/resolve.h"

namespace octet {
namespace {

/// The files that decide what a model says, but for the weights: the index holds their names and their total size.
constexpr std::array kModelFiles = {"config.json", "model.safetensors.index.json", "tokenizer.json",
                                    "generation_config.json"};

std::string now_in_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json model_object(const std::string& model) {
  Json files = Json::object();
  for (const char* name : kModelFiles) {
    const std::string path = model + "/" + name;
    files.set(name, std::filesystem::exists(path) ? Json(sha256(content_of(path))) : Json());
  }
  const std::string fingerprint = sha256(files.dump());
  return Json::object({{"path", model}, {"fingerprint", fingerprint}, {"files", std::move(files)}});
}

/// "options" and "options_hash".
void set_options(Json& record, Command command, Options options) {
  Json object = Json::object();
  std::string deciding;
  for (const OptionRow& row : option_rows(command, options)) {
    const std::string name(row.info.name), text = row.text();
    const auto place = options.places.find(name);
    object.set(name, Json::object({{"value", text.empty() ? Json() : Json(text)},
                                   {"from", place == options.places.end() ? "default" : place->second}}));
    if (effect_of(name) == Effect::kResults) deciding += fmt::format("{} = {}\n", name, text);
  }
  record.set("options", std::move(object));
  record.set("options_hash", sha256(deciding));
}

/// A member of a member, as text; "none" where there is nothing.
std::string text_at(const Json& record, std::string_view part, std::string_view name, std::string_view inner = "") {
  const Json* value = record.find(part);
  if (value != nullptr) value = value->find(name);
  if (value != nullptr && !inner.empty()) value = value->find(inner);
  return value == nullptr || value->is(Json::Kind::kNull) ? "none" : value->text;
}

/// What stands for `earlier` in a record that goes on with it.
Json shortened(const Json& earlier) {
  Json run = Json::object();
  for (const char* key : {"started", "host", "ranks", "octet"}) {
    const Json* value = earlier.find(key);
    run.set(key, value == nullptr ? Json() : *value);
  }
  return run;
}

Json read_record(const std::string& output, size_t rows) {
  const std::string path = run_record_path(output);
  if (!std::filesystem::exists(path)) {
    throw Error(Code::kUsage, fmt::format("there are {} finished lines but no {}, which says with which options they "
                                          "were made: they cannot be gone on with; --force starts again",
                                          rows, path));
  }
  try {
    return parse_json(content_of(path), path);
  } catch (const Error& error) {
    throw Error(Code::kUsage, fmt::format("{}: the finished lines cannot be gone on with", error.what()));
  }
}

}  // namespace

Json make_run_record(Command command, const Options& options, const RunFacts& facts) {
  Json command_line = Json::array();
  for (const std::string& word : own_command_line()) command_line.push(word);
  Json environment = Json::object();
  for (const auto& [name, value] : recorded_environment()) environment.set(name, value);
  Json record = Json::object(
      {{"octet", Json::object({{"version", facts.version}, {"build", facts.build_type}, {"cuda", facts.cuda}})},
       {"command", command_name(command)},
       {"started", now_in_utc()},
       {"host", host_name()},
       {"ranks", facts.ranks},
       {"command_line", std::move(command_line)},
       {"input", command == Command::kScore ? options.score.input : options.generate.input}});
  set_options(record, command, options);
  // The form of an int8 run's sums depends on the tokens of a step, and with it the rows on how lines are packed.
  const CampaignOptions& campaign = options.run.campaign;
  record.set("rows_depend_on_steps", campaign.ar_int8 && campaign.ar_int8_min_tokens > 1);
  record.set("model", model_object(options.run.model));
  record.set("environment", std::move(environment));
  return record;
}

std::string run_record_path(const std::string& output) {
  return output + ".run.json";
}

void check_same_rows(const Json& earlier, const Json& record) {
  std::string differences;
  const auto compare = [&differences](std::string_view name, const std::string& before, const std::string& now) {
    if (before != now) differences += fmt::format("{}{}: {} -> {}", differences.empty() ? "" : ", ", name, before, now);
  };
  compare("command", earlier.find("command") ? earlier.find("command")->text : "none", record.find("command")->text);
  for (const auto& [name, value] : record.find("options")->members) {
    if (effect_of(name) != Effect::kResults) continue;
    compare(name, text_at(earlier, "options", name, "value"), text_at(record, "options", name, "value"));
  }
  constexpr size_t kShownDigits = 12;  // of a hash: enough to tell two apart
  for (const auto& [name, hash] : record.find("model")->find("files")->members) {
    const Json* files = earlier.find("model") ? earlier.find("model")->find("files") : nullptr;
    const std::string before = files ? text_at(*earlier.find("model"), "files", name) : "none";
    compare("the model's " + name, before.substr(0, kShownDigits),
            text_at(*record.find("model"), "files", name).substr(0, kShownDigits));
  }
  if (differences.empty()) return;
  throw Error(Code::kUsage, fmt::format("the finished lines were made differently ({}); give the same options to go "
                                        "on with them, or --force to start again",
                                        differences));
}

void begin_run_record(const std::string& output, Json record, size_t earlier_rows) {
  if (earlier_rows > 0) {
    const Json earlier = read_record(output, earlier_rows);
    check_same_rows(earlier, record);
    const Json* before = earlier.find("earlier_runs");
    Json runs = before == nullptr ? Json::array() : *before;
    runs.push(shortened(earlier));
    record.set("earlier_runs", std::move(runs));
  }
  replace_file(run_record_path(output), record.dump() + "\n", Durability::kMachine);
}

}  // namespace octet
