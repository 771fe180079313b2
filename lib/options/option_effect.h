// Which options change the rows of a run. A run may be resumed with other values of the others.
#pragma once

#include <optional>
#include <string_view>

namespace octet {

enum class Effect {
  kResults,  ///< another value gives other rows
  kRunning,  ///< where, how fast or how the rows come to be; not what stands in them
};

/// The effect of an option of generate or score; nothing for a name that is in neither list, which a test forbids.
std::optional<Effect> effect_of(std::string_view option);

}  // namespace octet
