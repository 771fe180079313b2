// Root-mean-square normalisation. Act is bf16 (weight_only, official) or float (exact): storing an Act rounds.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"

namespace octet::ops {

/// y[t,:] = Act( w * (x[t,:] * rsqrt(mean(x[t,:]^2) + eps)) ), fp32 inside, rounded once.
/// x, y [T, D] Act; w [D] bf16; y may be x. There is no "1 + w".   Source: V4 model.py, RMSNorm.forward.
template <class Act>
void rms_norm(cpu::Context&, Mat<Act> y, Mat<const Act> x, Vec<const bf16> w, float eps);

/// q[r,:] *= rsqrt(mean(q[r,:]^2) + eps), without a weight, every elementary operation rounded to Act:
/// t1 = Act(q^2), t2 = Act(mean t1, fp32 sum), t3 = Act(t2 + eps), t4 = Act(rsqrt t3), q = Act(q * t4).
/// q [T * heads, head_dim] Act, in place.   Source: V4 model.py, Attention.forward (q *= rsqrt(q.square().mean ...)).
template <class Act>
void head_rms_norm(cpu::Context&, Mat<Act> q, float eps);

}  // namespace octet::ops
