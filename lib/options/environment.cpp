// See environment.h.
#include "options/environment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "options/suggest.h"

namespace octet {
namespace {

constexpr std::string_view kPrefix = "OCTET_";
constexpr std::string_view kTestPrefix = "OCTET_TEST_";

std::vector<std::string> names_of(Command command) {
  Options options;
  std::vector<std::string> names;
  for (const OptionRow& row : option_rows(command, options)) names.emplace_back(row.info.name);
  return names;
}

}  // namespace

std::vector<Setting> environment_settings(Command command) {
  const std::vector<std::string> own = names_of(command);
  std::set<std::string> known;
  for (const Command other : kCommands) {
    for (const std::string& name : names_of(other)) known.insert(variable_name(name));
  }
  std::vector<Setting> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (!line.starts_with(kPrefix) || line.starts_with(kTestPrefix) || equals == std::string_view::npos) continue;
    const std::string variable(line.substr(0, equals));
    const auto mine = std::find_if(own.begin(), own.end(), [&](const auto& n) { return variable_name(n) == variable; });
    if (mine != own.end()) {
      settings.push_back({*mine, std::string(line.substr(equals + 1)), Origin::kEnvironment, variable});
      continue;
    }
    if (known.contains(variable)) continue;
    const std::vector<std::string> variables(known.begin(), known.end());
    throw Error(Code::kUsage,
                fmt::format("environment variable {} names no option{}", variable, did_you_mean(variable, variables)));
  }
  return settings;
}

}  // namespace octet
