// The lightning indexer: scores every compressed row for every query and keeps the best.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/segments.h"

namespace octet::ops {

/// w[t,h] = Act( w[t,h] * scale ): the head weights, scaled in Act arithmetic.   w [T, H] Act in place.
template <class Act>
void scale_rows(cpu::Context&, Mat<Act> w, float scale);

/// selected[t] = the K best compressed rows j < (p + 1) / ratio of query t at position p, by
///   score(j) = Act( sum_h Act( relu( Act(q[t,h] . k[j]) ) * w[t,h] ) )       (sum in fp32, ascending h),
/// highest first, ties to the lower j; -1 beyond the number of candidates.
/// q [T, H] packed index rows (ops::pack_index); keys: the sequences' paged index rows; w [T, H] Act;
/// selected [T, K] int32.   Source: V4 model.py, Indexer.forward. torch.topk leaves ties open; this order is Octet's.
template <class Act>
void select_rows(cpu::Context&, Mat<int32_t> selected, Cube<const std::byte> q, const PagedRows& keys, Mat<const Act> w,
                 const Segments&, int64_t ratio, int64_t index_dim);

}  // namespace octet::ops
