// See ab_arms.h. Flags are read by the rows of the option list, so that a value means the same as on a command line.
#include "options/ab_arms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "options/resolve.h"
#include "options/suggest.h"

namespace octet {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view marks) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = std::min(text.find_first_of(marks), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
  });
}

std::vector<OptionRow> flag_rows(CampaignOptions& campaign) {
  std::vector<OptionRow> rows;
  visit_campaign_flags(campaign,
                       [&rows](auto& member, const OptionInfo& info) { rows.push_back(option_row(member, info)); });
  return rows;
}

void read_flag(std::string_view text, const std::string& arm, const std::vector<OptionRow>& rows,
               std::vector<std::string>& given) {
  const size_t equals = text.find('=');
  std::string name(text.substr(0, equals));
  std::replace(name.begin(), name.end(), '-', '_');
  std::vector<std::string> names;
  for (const OptionRow& row : rows) names.emplace_back(row.info.name);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& r) { return r.info.name == name; });
  if (row == rows.end()) {
    throw Error(Code::kUsage, fmt::format("--arm {}: '{}' is no flag of the campaign{}", arm, text.substr(0, equals),
                                          did_you_mean(name, names)));
  }
  if (std::find(given.begin(), given.end(), name) != given.end()) {
    throw Error(Code::kUsage, fmt::format("--arm {}: {} is given more than once", arm, name));
  }
  given.push_back(name);
  if (equals == text.npos && !row->is_switch) {
    throw Error(Code::kUsage, fmt::format("--arm {}: {} needs a value: {}={}", arm, name, name, row->info.value));
  }
  const std::string value = equals == text.npos ? "true" : std::string(text.substr(equals + 1));
  row->set({name, value, Origin::kFlag, fmt::format("--arm {}: {}", arm, name)});
}

Arm parse_arm(std::string_view text, int64_t graph_cap) {
  const size_t colon = text.find(':');
  Arm arm{.name = std::string(text.substr(0, colon))};
  if (!is_name(arm.name)) {
    throw Error(
        Code::kUsage,
        fmt::format("--arm expects NAME:FLAG=VALUE,... with a name of letters, digits and _-.+, found '{}'", text));
  }
  if (arm.name == kNullArm) {
    throw Error(Code::kUsage, "--arm null: that name belongs to the second run of the reference");
  }
  const std::vector<OptionRow> rows = flag_rows(arm.campaign);
  std::vector<std::string> given;
  if (colon != text.npos) {
    for (const std::string_view flag : split(text.substr(colon + 1), ",")) read_flag(flag, arm.name, rows, given);
  }
  try {
    check_campaign(arm.campaign, graph_cap);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("--arm {}: {}", arm.name, e.what()));
  }
  return arm;
}

}  // namespace

std::vector<Arm> parse_arms(std::string_view text, int64_t graph_cap) {
  std::vector<Arm> arms;
  for (const std::string_view part : split(text, "; \t\n\r")) {
    Arm arm = parse_arm(part, graph_cap);
    const auto same = [&](const Arm& other) { return other.name == arm.name; };
    if (std::any_of(arms.begin(), arms.end(), same)) {
      throw Error(Code::kUsage, fmt::format("--arm {}: there are two arms of this name", arm.name));
    }
    arms.push_back(std::move(arm));
  }
  const auto is_control = [](const Arm& arm) { return arm.name == kControlArm; };
  if (std::none_of(arms.begin(), arms.end(), is_control)) arms.insert(arms.begin(), {.name = std::string(kControlArm)});
  return arms;
}

}  // namespace octet
