// Rotary position embedding on the last dims of a vector, interleaved pairs.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"

namespace octet::ops {

enum class Rotation { kForward, kInverse };

/// Rotates pair i = (x[d - 2F + 2i], x[d - 2F + 2i + 1]) of every head by phi = f32(f32(position) * frequency[i]):
/// (x0, x1) -> (x0 cos - x1 sin, x0 sin + x1 cos); kInverse uses -sin. cos and sin are accurate values of the fp32
/// product (no fast-math), the rotation is fp32, the result is rounded to Act.
/// x [T, heads, d] Act in place; positions [T]; frequencies [F], 2F <= d.
/// Source: V4 model.py, apply_rotary_emb.
template <class Act>
void rope(cpu::Context&, Cube<Act> x, Vec<const int64_t> positions, Vec<const float> frequencies, Rotation);

}  // namespace octet::ops
