// From texts to options: flags > OCTET_* variables > YAML file > defaults. Every value is parsed by the same function
// wherever it was written, and keeps where that was. Nothing here reads a file or the environment.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "options/option_list.h"
#include "options/options.h"

namespace octet {

enum class Origin { kDefault, kFile, kEnvironment, kFlag };

/// A value as it was written, and where: "--max-batch", "OCTET_MAX_BATCH" or "run.yaml:3".
struct Setting {
  std::string name;
  std::string text;
  Origin origin = Origin::kDefault;
  std::string place;
};

/// One option of one command, bound to its member.
struct OptionRow {
  OptionInfo info;
  bool is_switch = false;
  std::vector<std::string_view> words;      ///< of an enum; else empty
  std::function<void(const Setting&)> set;  ///< Error{kUsage} names place, expected and found
  std::function<std::string()> text;        ///< present value; empty when there is none
};

/// The row of one member; `member` must outlive it.
OptionRow option_row(bool& member, const OptionInfo& info);
OptionRow option_row(int64_t& member, const OptionInfo& info);

/// The options of a command in the order of its help; rows refer to `o`, which must outlive them.
std::vector<OptionRow> option_rows(Command command, Options& o);

struct ResolvedOptions {
  Options options;
  std::map<std::string, Setting> written;  ///< by name: the setting that decided; absent for defaults
};

/// Applies the settings from the weakest origin to the strongest. Error{kUsage} for a value that does not parse, even
/// if a stronger one replaces it. Required options may be missing.
ResolvedOptions resolve_settings(Command command, std::vector<Setting> settings);
/// The same; Error{kUsage} for a required option nobody gave.
ResolvedOptions resolve_options(Command command, std::vector<Setting> settings);

/// What this build can do.
struct BuildFacts {
  bool cuda = false;
};

/// Replaces every auto and empty choice of RunOptions, but leaves --transport auto on the CPU: peer memory if all ranks
/// are on one host. Error{kEnvironment} for what this build lacks, Error{kUsage} for pairs that cannot go together.
void resolve_run(RunOptions& run, const BuildFacts& build);

/// Error{kUsage} when flags of the campaign contradict one another or the graph cap: nothing is silently inert.
void check_campaign(const CampaignOptions& campaign, int64_t graph_cap);

/// Steps whose sums --verify compares across the ranks: 0 without it, all with plain "replicas". Error{kUsage} for
/// another text.
int64_t verified_steps(const RunOptions& run);

/// "name = value" lines of all options of a command, for comparing ranks and for the log.
std::string describe_options(Command command, Options options);

/// --max-batch for max_batch.
std::string flag_name(std::string_view option);
/// OCTET_MAX_BATCH for max_batch.
std::string variable_name(std::string_view option);

}  // namespace octet
