// Manifold-constrained hyper-connections: hc parallel residual streams, mixed before and after every sub-layer.
// Everything is fp32 except the streams and the sub-layer's input and output (Act).
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/int8_codec.h"

namespace octet::ops {

/// The parameters of one mixing point. fn [M, hc * D] with M = hc * (2 + hc) (or hc for the head), scale [3] (or [1]),
/// base [M].
struct HcWeights {
  Mat<const float> fn;
  Vec<const float> scale;
  Vec<const float> base;
};

/// h[t,i,:] = x[t,:] for all hc streams.   x [T, D] Act; h [T, hc, D] Act.   Source: V4 model.py, Transformer.forward.
template <class Act>
void hc_expand(cpu::Context&, Cube<Act> h, Mat<const Act> x);

/// mixes[t,k] = (fn[k] . v) * rsqrt(mean(v^2) + norm_eps), v = h[t] flattened stream-major; the factor comes after the
/// dot product.   h [T, hc, D] Act; fn [M, hc * D]; mixes [T, M].   Source: V4 model.py, Block.hc_pre.
template <class Act>
void hc_mixes(cpu::Context&, Mat<float> mixes, Cube<const Act> h, Mat<const float> fn, float norm_eps);

/// The same with the sum of v^2 already known: squares [T] as hc_post_sqrsum yields it, to the bit.
template <class Act>
void hc_mixes(cpu::Context&, Mat<float> mixes, Cube<const Act> h, Vec<const float> squares, Mat<const float> fn,
              float norm_eps);

/// hc_expand, then hc_mixes: of a model's first layer, whose streams are equal, so that a backend may read x once and
/// multiply it by the sum of fn over the streams.   x [T, D] Act; h [T, hc, D] Act.
template <class Act>
void hc_expand_mixes(cpu::Context&, Cube<Act> h, Mat<float> mixes, Mat<const Act> x, Mat<const float> fn,
                     float norm_eps);

/// pre = sigmoid(m * scale[0] + base) + eps, post = 2 sigmoid(m * scale[1] + base), comb = Sinkhorn(m * scale[2] +
/// base): softmax along the second index + eps, one column normalisation, then iters - 1 times rows and columns, each
/// divided by (sum + eps). mixes [T, hc * (2 + hc)] in the order pre, post, comb; pre, post [T, hc]; comb [T, hc, hc].
/// Source: V4 kernel.py, hc_split_sinkhorn.
void hc_split_sinkhorn(cpu::Context&, Mat<float> pre, Mat<float> post, Cube<float> comb, Mat<const float> mixes,
                       const HcWeights& w, int64_t iters, float eps);

/// pre[t,i] = sigmoid(mixes[t,i] * scale[0] + base[i]) + eps for the head.   mixes, pre [T, hc]; may alias.
/// Source: V4 model.py, ParallelHead.hc_head.
void hc_head_gates(cpu::Context&, Mat<float> pre, Mat<const float> mixes, const HcWeights& w, float eps);

/// y[t,:] = Act( sum_i pre[t,i] * h[t,i,:] ).   h [T, hc, D]; pre [T, hc]; y [T, D].
template <class Act>
void hc_weighted_sum(cpu::Context&, Mat<Act> y, Cube<const Act> h, Mat<const float> pre);

/// h[t,j,:] = Act( post[t,j] * x[t,:] + sum_i comb[t,i,j] * h[t,i,:] ): the contraction is over comb's first index.
/// x [T, D] Act; h [T, hc, D] Act in place.   Source: V4 model.py, Block.hc_post.
template <class Act>
void hc_post(cpu::Context&, Cube<Act> h, Mat<const Act> x, Mat<const float> post, Cube<const float> comb);

/// The same with x = codes and scales of an int8 sum, decoded in fp32 and not rounded to Act.
template <class Act>
void hc_post(cpu::Context&, Cube<Act> h, const int8::Rows& x, Mat<const float> post, Cube<const float> comb);

/// hc_post, and squares[t] = sum of the new h[t]^2 over all streams: of the rounded values, since it stands for a pass
/// over the stored streams.   X is Mat<const Act> or int8::Rows; squares [T] fp32.   Source: spec collectives.md 3.4.
template <class Act, class X>
void hc_post_sqrsum(cpu::Context&, Vec<float> squares, Cube<Act> h, const X& x, Mat<const float> post,
                    Cube<const float> comb);

}  // namespace octet::ops
