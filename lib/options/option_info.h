// How one option is written and explained; the rows of the lists in lists/.
#pragma once

#include <limits>
#include <string_view>

namespace octet {

/// Values a number may have: from `least` (itself excluded if `above_least`) to `most`.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;
};
inline constexpr Range kFromOne = {.least = 1};

/// How an option is written and explained. The flag is --name with hyphens, the variable OCTET_NAME in capitals, the
/// YAML key the name itself.
struct OptionInfo {
  std::string_view name;
  std::string_view group;        ///< heading in the help
  char letter = 0;               ///< one-letter flag, 0 for none
  std::string_view value = {};   ///< placeholder in the help; empty for enums and switches
  std::string_view help = {};    ///< what it does, units included
  std::string_view absent = {};  ///< what no value means, for options without a default value
  std::string_view alias = {};   ///< second spelling of the flag
  Range range = {};
  bool required = false;
  bool repeats = false;  ///< the flag may be given again; its texts are one text, with ; between them
};

}  // namespace octet
