// Sparse attention with a sink over the sliding window and the compressed rows. One shared key per position that is
// also the value (MQA).
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/segments.h"

namespace octet::ops {

/// What the queries of one layer may see.
struct AttentionKeys {
  Mat<const std::byte> chunk;   ///< [T, kv_row_bytes] this step's window rows
  Ring window;                  ///< window rows of earlier steps
  PagedRows compressed;         ///< compressed rows; page_rows 0 when the layer has none
  Mat<const int32_t> selected;  ///< [T, K] chosen rows (-1: none); empty: all visible rows
  int64_t window_size = 0;      ///< a query at p sees window positions max(0, p - window_size + 1) .. p
  int64_t ratio = 0;            ///< compressed row j is visible iff (j + 1) * ratio <= p + 1; 0: no such rows
  int64_t rope_dim = 0;
};

/// o[t,h] = sum_i e_i k_i / (sum_i e_i + exp(sink[h] - m)), e_i = exp(q[t,h] . k_i * head_dim^-0.5 - m).
/// Key order: window ascending by position (padded to window_size), then compressed rows as listed. Online softmax over
/// blocks of 64 list entries as the reference: the running maximum and denominator are fp32, e_i is rounded to Act for
/// the value product only, the final quotient is rounded to Act. The sink is not scaled and not part of m.
/// q, o [T, H, head_dim] Act; sink [H].   Source: V4 kernel.py, sparse_attn.
template <class Act>
void sparse_attention(cpu::Context&, Cube<Act> o, Cube<const Act> q, const AttentionKeys& keys, Vec<const float> sink,
                      const Segments&);

}  // namespace octet::ops
