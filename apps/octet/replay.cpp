// `octet replay`: the run of OUT.run.json again, with what has changed since said first.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "build_facts.h"
#include "commands.h"
#include "engine/run_record.h"
#include "options/option_words.h"
#include "options/resolve.h"

namespace octet {
namespace {

Json read_record(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Code::kUsage, fmt::format("cannot read the record {}", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return parse_json(text, path);
  } catch (const Error& e) {
    throw Error(Code::kUsage, e.what());
  }
}

const Json& member(const Json& object, std::string_view key, const std::string& path) {
  const Json* value = object.find(key);
  if (value == nullptr) throw Error(Code::kUsage, fmt::format("{}: no record of a run: '{}' is missing", path, key));
  return *value;
}

/// The recorded options, defaults too: a default that has changed since does not change the repetition.
std::vector<Setting> recorded_settings(const Json& record, Command command, const std::string& path) {
  Options defaults;
  const std::vector<OptionRow> rows = option_rows(command, defaults);
  std::vector<Setting> settings;
  for (const auto& [name, entry] : member(record, "options", path).members) {
    const Json& value = member(entry, "value", path);
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const OptionRow& r) { return r.info.name == name; });
    if (value.is(Json::Kind::kNull) || name == "config") continue;  // the file's values are recorded themselves
    if (!known) {
      throw Error(Code::kUsage, fmt::format("{}: this octet {} has no option '{}'", path, command_name(command), name));
    }
    settings.push_back({name, value.text, Origin::kFile, path});
  }
  return settings;
}

Command recorded_command(const Json& record, const std::string& path) {
  const std::string& name = member(record, "command", path).text;
  for (const Command command : {Command::kGenerate, Command::kScore}) {
    if (name == command_name(command)) return command;
  }
  throw Error(Code::kUsage, fmt::format("{}: a record of octet {}, which cannot be repeated", path, name));
}

void check_ranks_are_recorded(const Json& record, int ranks, const ReplayOptions& replay) {
  const int64_t wanted = member(record, "ranks", replay.record).as_int().value_or(1);
  if (wanted == ranks) return;
  throw Error(Code::kUsage,
              fmt::format("{}: the run had {} ranks, this one has {}; start it as: mpirun -np {} octet replay "
                          "{}{}",
                          replay.record, wanted, ranks, wanted, replay.record,
                          replay.output.empty() ? "" : " -o " + replay.output));
}

std::string shown(const Json* value) {
  if (value == nullptr || value->is(Json::Kind::kNull)) return "nothing";
  return value->is(Json::Kind::kString) ? value->text : value->dump();
}

/// "part.name: before -> now" for every member that is not the same.
void compare(const std::string& part, const Json* before, const Json* now, std::vector<std::string>& lines) {
  const auto differ = [&](const std::string& name, const Json* a, const Json* b) {
    if (shown(a) != shown(b)) lines.push_back(fmt::format("{}{}: {} -> {}", part, name, shown(a), shown(b)));
  };
  if (before != nullptr) {
    for (const auto& [name, value] : before->members) differ(name, &value, now == nullptr ? nullptr : now->find(name));
  }
  if (now == nullptr) return;
  for (const auto& [name, value] : now->members) {
    if (before == nullptr || before->find(name) == nullptr) differ(name, nullptr, &value);
  }
}

std::vector<std::string> differences(const Json& record, const Json& now) {
  std::vector<std::string> lines;
  compare("octet ", record.find("octet"), now.find("octet"), lines);
  compare("environment ", record.find("environment"), now.find("environment"), lines);
  for (const Json* part : {record.find("model")}) {
    if (part == nullptr || now.find("model") == nullptr) continue;
    compare("model ", part->find("files"), now.find("model")->find("files"), lines);
  }
  if (shown(record.find("host")) != shown(now.find("host"))) {
    lines.push_back(fmt::format("host: {} -> {}", shown(record.find("host")), shown(now.find("host"))));
  }
  return lines;
}

}  // namespace

int run_replay(const Options& options, comm::MpiSession& session) {
  const ReplayOptions& replay = options.replay;
  Options repeated;
  Command command = Command::kGenerate;
  session.funnel([&] {
    const Json record = read_record(replay.record);
    command = recorded_command(record, replay.record);
    check_ranks_are_recorded(record, session.size(), replay);
    repeated = resolve_options(command, recorded_settings(record, command, replay.record)).options;
    resolve_run(repeated.run, {.cuda = kCudaBuilt});
    std::string& output = command == Command::kGenerate ? repeated.generate.output : repeated.score.output;
    bool& force = command == Command::kGenerate ? repeated.generate.force : repeated.score.force;
    if (!replay.output.empty()) {
      output = replay.output;
      repeated.generate.summary = repeated.generate.status_file = "";  // those of the recorded run stay
      repeated.score.dump_logits = repeated.score.dump_streams = "";
    }
    force = replay.force;
    repeated.generate.resume = repeated.generate.retry_errors = false;  // the whole run again
    if (session.rank() != 0) return;
    const Json now = make_run_record(
        command, repeated,
        RunFacts{.version = kVersion, .build_type = kBuildType, .cuda = kCudaBuilt, .ranks = session.size()});
    const std::vector<std::string> lines = differences(record, now);
    if (lines.empty()) log::info("replay: nothing differs from the recorded run");
    for (const std::string& line : lines) log::warn("replay: {}", line);
  });
  return command == Command::kGenerate ? run_generate(repeated, session) : run_score(repeated, session);
}

}  // namespace octet
