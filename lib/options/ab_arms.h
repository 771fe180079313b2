// The arms of octet ab: names with campaign flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "options/options.h"

namespace octet {

struct Arm {
  std::string name;
  CampaignOptions campaign = {};
  bool operator==(const Arm&) const = default;
};

inline constexpr std::string_view kControlArm = "control";
/// The hidden second run of the reference; no arm may be called so.
inline constexpr std::string_view kNullArm = "null";

/// Reads "control:;int8:ar_int8=true,ar-int8-min-tokens=1": arms with ; or blanks between them, each
/// NAME:FLAG=VALUE,... or NAME: or NAME. A flag is spelt as in a file or on a command line; alone it means true; what
/// an arm does not say is the default. The first arm is the reference; without one called control, that one is put
/// first. Error{kUsage}: an unknown flag, a bad value, a name twice, flags that contradict one another or the graph
/// cap.
std::vector<Arm> parse_arms(std::string_view text, int64_t graph_cap);

}  // namespace octet
