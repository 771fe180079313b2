// How well int8 codes carry the layers' sums: figures for the summary, taken beside the sums themselves.
#pragma once

#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/int8_codec.h"
#include "options/campaign_counts.h"

namespace octet::ops {

/// Encodes the first row of this rank's share and adds what its codes are off by.   x [T, D] fp32.
void sample_int8(cpu::Context&, SiteHealth& health, Mat<const float> x);

/// Adds the blocks of a sum: all, zero, broken.
void count_int8_blocks(cpu::Context&, SiteHealth& health, const int8::Rows& sum);

}  // namespace octet::ops
