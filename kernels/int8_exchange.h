// How a rank's part of the int8 sum lies in memory that its peers read. One layout for every transport over peer
// memory.
#pragma once

#include <cstdint>

#include "kernels/int8_codec.h"

namespace octet::int8 {

/// Offsets into a rank's exchange memory for sums of at most `most_blocks` blocks. `codes` and `scales` hold the rank's
/// own addend; `sum_codes` and `sum_scales` its share of the sum.   Source: spec collectives.md 2.2 (REG and TMP).
struct ExchangeLayout {
  int64_t most_blocks = 0;
  int64_t scales = 0, sum_codes = 0, sum_scales = 0;  ///< `codes` begin at 0
  int64_t bytes = 0;

  ExchangeLayout() = default;
  ExchangeLayout(int64_t blocks, int64_t ranks) : most_blocks(blocks) {
    constexpr int64_t kAlignment = 16;
    const auto aligned = [](int64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; };
    const int64_t share = (blocks + ranks - 1) / ranks, scale = static_cast<int64_t>(sizeof(bf16));
    scales = blocks * kBlock;
    sum_codes = aligned(scales + blocks * scale);
    sum_scales = sum_codes + share * kBlock;
    bytes = aligned(sum_scales + share * scale);
  }
};

}  // namespace octet::int8
