// See options_cli.h. CLI11 only splits argv into flags and texts, and yaml-cpp a file into keys and texts: types,
// ranges and precedence are lib/options' work, so that a value means the same wherever it was written.
#include "options_cli.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "config_show.h"
#include "help.h"
#include "options/environment.h"
#include "options/option_words.h"
#include "options/suggest.h"
#include "version.h"

namespace octet {
namespace {

Command find_command(std::string_view word) {
  std::vector<std::string> names;
  for (const Command command : kCommands) {
    if (word == command_name(command)) return command;
    names.emplace_back(command_name(command));
  }
  throw Error(Code::kUsage,
              fmt::format("unknown command '{}'{} (octet --help lists the commands)", word, did_you_mean(word, names)));
}

/// CLI11 lets an option swallow the flag after it: "-o --force". A file of such a name can be given as ./--force.
bool looks_like_flag(std::string_view text) {
  return text.size() > 1 && text[0] == '-' && text.find_first_of("0123456789.") != 1;
}

/// "-m,--model" or "--max-tokens,--max-new-tokens".
std::string flag_spellings(const OptionInfo& info) {
  std::string names = flag_name(info.name);
  if (info.letter != 0) names = fmt::format("-{},{}", info.letter, names);
  if (!info.alias.empty()) names += "," + flag_name(info.alias);
  return names;
}

/// A command's flags bound to CLI11, and what they came to.
struct FlagParser {
  FlagParser(Command command, const std::vector<OptionRow>& rows);
  std::vector<Setting> settings(const std::vector<OptionRow>& rows) const;
  [[noreturn]] void refuse_extra(const std::string& word, const std::vector<OptionRow>& rows) const;

  Command command;
  CLI::App app;
  std::map<std::string_view, CLI::Option*> bound;
  CLI::Option* quiet = nullptr;
  CLI::Option* verbose = nullptr;
};

FlagParser::FlagParser(Command which, const std::vector<OptionRow>& rows) : command(which) {
  app.set_help_flag("-h,--help");
  app.allow_extras();  // so that an unknown flag gets our own message
  for (const OptionRow& row : rows) {
    const std::string names = flag_spellings(row.info);
    CLI::Option* option = row.is_switch ? app.add_flag(names) : app.add_option(names);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->type_name(std::string(row.info.value));
    if (!row.is_switch) option->expected(1);
    bound[row.info.name] = option;
    if (row.info.name != "log_level") continue;
    quiet = app.add_flag("-q");
    verbose = app.add_flag("-v")->excludes(quiet)->excludes(bound["log_level"]);
    quiet->excludes(bound["log_level"]);
  }
}

void FlagParser::refuse_extra(const std::string& word, const std::vector<OptionRow>& rows) const {
  std::vector<std::string> flags = {"--help"};
  for (const OptionRow& row : rows) {
    flags.push_back(flag_name(row.info.name));
    if (!row.info.alias.empty()) flags.push_back(flag_name(row.info.alias));
  }
  const std::string spelling = word.substr(0, word.find('='));
  const bool is_flag = word.starts_with("-") && word.size() > 1;
  const std::string what = is_flag ? fmt::format("unknown flag '{}'{}", spelling, did_you_mean(spelling, flags))
                                   : fmt::format("unexpected argument '{}'", word);
  throw Error(Code::kUsage, fmt::format("{0}: {1} (see octet {0} --help)", command_name(command), what));
}

std::vector<Setting> FlagParser::settings(const std::vector<OptionRow>& rows) const {
  if (!app.remaining().empty()) refuse_extra(app.remaining().front(), rows);
  std::vector<Setting> found;
  for (const OptionRow& row : rows) {
    const CLI::Option* option = bound.at(row.info.name);
    if (option->count() == 0) continue;
    const std::string name(row.info.name);
    if (option->count() > 1 && !row.info.repeats) {
      throw Error(Code::kUsage, fmt::format("{} is given more than once", flag_name(name)));
    }
    std::string text;
    for (const std::string& given : option->results()) {
      if (looks_like_flag(given)) {
        throw Error(Code::kUsage, fmt::format("{} has no value before '{}'", flag_name(name), given));
      }
      text += text.empty() ? given : ";" + given;
    }
    found.push_back({name, text, Origin::kFlag, flag_name(name)});
  }
  if (quiet != nullptr && quiet->count() > 0) found.push_back({"log_level", "warn", Origin::kFlag, "-q"});
  if (verbose != nullptr && verbose->count() > 0) found.push_back({"log_level", "debug", Origin::kFlag, "-v"});
  return found;
}

/// plan and doctor look at a run: they read its file and leave out what is only generate's.
bool is_left_out(Command command, const std::string& name) {
  if (command != Command::kPlan && command != Command::kDoctor) return false;
  Options defaults;
  const std::vector<OptionRow> rows = option_rows(Command::kGenerate, defaults);
  return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) { return row.info.name == name; });
}

/// A key of the file as a setting, nothing for one that is left out; `place` is "run.yaml:3".
std::optional<Setting> read_entry(Command command, const YAML::Node& key, const YAML::Node& value,
                                  const std::string& place, const std::vector<OptionRow>& rows) {
  if (!key.IsScalar()) throw Error(Code::kUsage, fmt::format("{}: expected a key", place));
  const std::string name = key.Scalar();
  std::vector<std::string> names;
  for (const OptionRow& row : rows) {
    if (row.info.name != "config") names.emplace_back(row.info.name);
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    if (is_left_out(command, name)) return std::nullopt;
    throw Error(Code::kUsage, fmt::format("{}: '{}' is no option of octet {}{}", place, name, command_name(command),
                                          did_you_mean(name, names)));
  }
  if (!value.IsScalar()) {
    const std::string_view found = value.IsNull() ? "none" : value.IsMap() ? "a map" : "a list";
    throw Error(Code::kUsage, fmt::format("{}: {} expects one value, found {}", place, name, found));
  }
  return Setting{name, value.Scalar(), Origin::kFile, place};
}

std::vector<YAML::Node> load_documents(const std::string& path) {
  try {
    return YAML::LoadAllFromFile(path);
  } catch (const YAML::BadFile&) {
    throw Error(Code::kUsage, fmt::format("cannot read the --config file {}", path));
  } catch (const YAML::Exception& e) {
    throw Error(Code::kUsage, fmt::format("{}:{}: {}", path, e.mark.line + 1, e.msg));
  }
}

const Setting* find_setting(const std::vector<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const Setting& s) { return s.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

/// The arguments with a flag before replay's RUN.json, ab's mode and bench's target, which may stand without.
std::vector<const char*> named_arguments(Command command, std::span<const char* const> words) {
  std::vector<const char*> arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == 1 && words[i][0] != '-') {
      if (command == Command::kReplay) arguments.push_back("--record");
      if (command == Command::kAb) arguments.push_back("--mode");
      if (command == Command::kBench) arguments.push_back("--target");
    }
    arguments.push_back(words[i]);
  }
  return arguments;
}

std::string version_text(std::span<const char* const> words) {
  if (words.empty()) return version_line();
  if (words.size() == 1 && std::string_view(words[0]) == "--json") return version_json().dump() + "\n";
  throw Error(Code::kUsage, fmt::format("--version: expected --json or nothing, found '{}'", words[0]));
}

}  // namespace

Invocation read_command_line(int argc, const char* const* argv) {
  const std::span words(argv, static_cast<size_t>(argc));
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") return {.text = program_help()};
  if (first == "--version") return {.text = version_text(words.subspan(2))};
  if (first == "help" && words.size() > 2 && std::string_view(words[2]) == "config") {
    const char* const help[] = {"--help"};
    return {.text = config_text(help)};
  }
  if (first == "help") return {.text = words.size() > 2 ? command_help(find_command(words[2])) : program_help()};
  if (first == "config") return {.text = config_text(words.subspan(2))};
  if (first.empty()) throw Error(Code::kUsage, "no command given (octet --help lists them)");
  if (first.starts_with("-")) {
    throw Error(Code::kUsage, fmt::format("expected a command before '{}' (octet --help lists them)", first));
  }
  const Command command = find_command(first);
  Options defaults;
  const std::vector<OptionRow> rows = option_rows(command, defaults);
  FlagParser parser(command, rows);
  for (const std::string_view word : words.subspan(2)) {
    if (!word.starts_with("--") || !word.ends_with("=")) continue;  // CLI11 would take the next word for the value
    throw Error(Code::kUsage, fmt::format("{}: '{}' has no value", first, word));
  }
  const std::vector<const char*> flags = named_arguments(command, words.subspan(1));
  try {
    parser.app.parse(static_cast<int>(flags.size()), flags.data());
  } catch (const CLI::CallForHelp&) {
    return {.text = command_help(command)};
  } catch (const CLI::ParseError& e) {
    throw Error(Code::kUsage, fmt::format("{0}: {1} (see octet {0} --help)", command_name(command), e.what()));
  }
  return {.command = command, .flags = parser.settings(rows)};
}

std::vector<Setting> read_yaml(Command command, const std::string& path) {
  const std::vector<YAML::Node> documents = load_documents(path);
  if (documents.empty() || (documents.size() == 1 && documents[0].IsNull())) return {};
  if (documents.size() > 1) throw Error(Code::kUsage, fmt::format("{}: more than one YAML document", path));
  if (!documents[0].IsMap()) throw Error(Code::kUsage, fmt::format("{}: expected lines of 'option: value'", path));
  Options defaults;
  const std::vector<OptionRow> rows = option_rows(command, defaults);
  std::vector<Setting> settings;
  for (const auto& entry : documents[0]) {  // yaml-cpp keeps repeated keys, and would return the first
    const std::string place = fmt::format("{}:{}", path, entry.first.Mark().line + 1);
    const std::optional<Setting> setting = read_entry(command, entry.first, entry.second, place, rows);
    if (!setting) continue;
    if (const Setting* earlier = find_setting(settings, setting->name)) {
      throw Error(Code::kUsage, fmt::format("{}: '{}' was given already at {}", place, setting->name, earlier->place));
    }
    settings.push_back(*setting);
  }
  return settings;
}

std::vector<Setting> gather_settings(const Invocation& invocation) {
  const Command command = invocation.command;
  std::vector<Setting> settings = environment_settings(command);
  settings.insert(settings.end(), invocation.flags.begin(), invocation.flags.end());
  const bool takes_yaml = command != Command::kSynth;  // whose --config is another file
  const Setting* config = find_setting(invocation.flags, "config");
  if (config == nullptr) config = find_setting(settings, "config");
  if (takes_yaml && config != nullptr) {
    const std::vector<Setting> file = read_yaml(command, config->text);
    settings.insert(settings.end(), file.begin(), file.end());
  }
  return settings;
}

ResolvedOptions gather_options(const Invocation& invocation) {
  return resolve_options(invocation.command, gather_settings(invocation));
}

}  // namespace octet
