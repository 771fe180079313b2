// See config_show.h.
#include "config_show.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "options/option_words.h"
#include "options_cli.h"

namespace octet {
namespace {

struct Shown {
  bool origin = false, json = false;
  std::vector<const char*> command_line;  ///< as the command itself would be called
};

constexpr std::string_view kHelp =
    "octet config show [--origin] [--json] [COMMAND] [flags]\n"
    "  the options that COMMAND (generate, if none is named) would run with: flags, variables and --config file "
    "applied\n"
    "  --origin  where each value comes from\n"
    "  --json    as one object\n"
    "example: octet config show --origin generate --config run.yaml --max-batch 8\n";

Shown read_words(std::span<const char* const> words) {
  if (words.empty() || std::string_view(words[0]) != "show") {
    throw Error(Code::kUsage, "octet config: expected 'octet config show [--origin] [--json] [COMMAND] [flags]'");
  }
  Shown shown{.command_line = {"octet"}};
  for (const char* const text : words.subspan(1)) {
    const std::string_view word = text;
    if (word == "--origin") {
      shown.origin = true;
    } else if (word == "--json") {
      shown.json = true;
    } else {
      if (shown.command_line.size() == 1 && word.starts_with("-")) shown.command_line.push_back("generate");
      shown.command_line.push_back(text);
    }
  }
  if (shown.command_line.size() == 1) shown.command_line.push_back("generate");
  return shown;
}

std::string_view origin_word(Origin origin) {
  switch (origin) {
    case Origin::kDefault: return "default";
    case Origin::kFile: return "file";
    case Origin::kEnvironment: return "variable";
    case Origin::kFlag: return "flag";
  }
  return "?";
}

std::string shown_value(const OptionRow& row) {
  const std::string value = row.text();
  if (!value.empty()) return value;
  return row.info.required ? "(required)" : fmt::format("({})", row.info.absent.empty() ? "none" : row.info.absent);
}

}  // namespace

std::string config_text(std::span<const char* const> words) {
  for (const std::string_view word : words.first(std::min<size_t>(words.size(), 2))) {
    if (word == "--help" || word == "-h") return std::string(kHelp);
  }
  const Shown shown = read_words(words);
  const Invocation invocation =
      read_command_line(static_cast<int>(shown.command_line.size()), shown.command_line.data());
  if (!invocation.text.empty()) return invocation.text;
  ResolvedOptions resolved = resolve_settings(invocation.command, gather_settings(invocation));
  Json object = Json::object();
  std::string text;
  size_t width = 0;
  const std::vector<OptionRow> rows = option_rows(invocation.command, resolved.options);
  for (const OptionRow& row : rows) width = std::max(width, row.info.name.size());
  for (const OptionRow& row : rows) {
    const auto written = resolved.written.find(std::string(row.info.name));
    const bool is_default = written == resolved.written.end();
    const Origin origin = is_default ? Origin::kDefault : written->second.origin;
    const std::string place = is_default ? "" : written->second.place;
    const std::string value = row.text();
    Json entry = Json::object({{"value", value.empty() ? Json() : Json(value)}});
    if (shown.origin) entry.set("origin", origin_word(origin));
    if (shown.origin && !is_default) entry.set("place", place);
    object.set(std::string(row.info.name), std::move(entry));
    const std::string where = is_default ? "default" : fmt::format("{} {}", origin_word(origin), place);
    const std::string line = fmt::format("{:<{}} = {}", row.info.name, width, shown_value(row));
    text += shown.origin ? fmt::format("{:<60} {}\n", line, where) : line + "\n";
  }
  if (!shown.json) return text;
  return Json::object({{"command", command_name(invocation.command)}, {"options", std::move(object)}}).dump() + "\n";
}

}  // namespace octet
