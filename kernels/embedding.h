// Vocabulary-sharded lookup.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"

namespace octet::ops {

/// y[t,:] = table[ids[t] - first_id, :] where this rank holds that row, else 0. The sum over ranks is the embedding;
/// it is exact in any type because all but one addend are zero.
/// y [T, D] Act (bf16 or float); ids [T] in [0, V); table [V / ranks, D] bf16.
/// Source: V4 model.py, ParallelEmbedding.forward.
template <class Act>
void embedding(cpu::Context&, Mat<Act> y, Vec<const int32_t> ids, Mat<const bf16> table, int64_t first_id);

}  // namespace octet::ops
