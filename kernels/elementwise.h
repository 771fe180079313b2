// Moving rows.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"

namespace octet::ops {

/// y[i] = x[rows[i]].   x [T, n] Act; rows [S] in [0, T); y [S, n].
template <class Act>
void gather_rows(cpu::Context&, Mat<Act> y, Mat<const Act> x, Vec<const int64_t> rows);

/// y = Act(x), one rounding.   x [T, n] fp32; y [T, n] Act.
template <class Act>
void round_to(cpu::Context&, Mat<Act> y, Mat<const float> x);

}  // namespace octet::ops
