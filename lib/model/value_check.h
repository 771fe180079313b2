// Checks of tensor values that no arithmetic can survive: NaN, infinity, expert ids that are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"

namespace octet {

/// Index of the first element that is NaN or infinite; nothing when all are finite or the type has no such values.
/// `bytes` holds whole elements and need not be aligned.
std::optional<int64_t> first_non_finite(DType dtype, std::span<const std::byte> bytes);

/// Index of the first entry of tid2eid (int64 [tokens, per_token]) that is not in [0, experts) or repeats an earlier
/// entry of its token.
std::optional<int64_t> first_bad_expert(std::span<const std::byte> bytes, int64_t per_token, int64_t experts);

}  // namespace octet
