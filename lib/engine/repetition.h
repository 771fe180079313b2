// The repetition stop: a completion that says one thing over and over holds its place in the batch until the end of
// the context.
#pragma once

#include <cstdint>
#include <span>

#include "model/batch.h"

namespace octet {

/// Whether the last `window` tokens are one piece of at most a quarter of the window, repeated (the last repeat may be
/// cut). False while there are fewer tokens, and for window 0.
bool repeats_itself(std::span<const TokenId> tokens, int64_t window);

}  // namespace octet
