// y = x * w^T for the weight formats of the checkpoint.
#pragma once

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/quant.h"

namespace octet::ops {

/// W[n,k] = q[n,k] * scale[(first_row + n) / 128, k / 128]. first_row is the weight's first row modulo 128: a rank
/// whose rows begin inside a block shares that block's scale row with its neighbour. q [N, K]; scale [ceil((first_row +
/// N) / 128), K / 128].
struct Fp8Weight {
  Mat<const fp8_e4m3> q;
  Mat<const fp8_e8m0> scale;
  int64_t first_row = 0;
};

/// W[n,k] = e2m1 nibble (k even: low) of q[n, k/2], times scale[n, k / 32].   q [N, K / 2]; scale [N, K / 32].
struct Fp4Weight {
  Mat<const fp4x2> q;
  Mat<const fp8_e8m0> scale;
};

/// y[t,n] = Out( sum_k x[t,k] * W[n,k] ), fp32 accumulation in a fixed order that depends on K alone, so a row's result
/// does not depend on T. x is taken from its fp8 codes when it has them.
/// x [T, K]; w [N, K]; y [T, N] Out (bf16 or float). T may be 0.
/// Source: V4 kernel.py, fp8_gemm; model.py, linear. All scales are powers of two: dequantise-then-multiply is the same
/// product, only the order of the fp32 sum differs.
template <class Out, class Act>
void gemm(cpu::Context&, Mat<Out> y, const LinearInput<Act>& x, const Fp8Weight& w);

/// The same with a plain activation.
template <class Out, class Act>
void gemm(cpu::Context&, Mat<Out> y, Mat<const Act> x, const Fp8Weight& w);

/// The same with a bf16 or fp32 weight [N, K] (router, compressors, weights_proj, lm head, hyper-connection mixes).
template <class Out, class Act>
void gemm(cpu::Context&, Mat<Out> y, Mat<const Act> x, Mat<const bf16> w);
template <class Out, class Act>
void gemm(cpu::Context&, Mat<Out> y, Mat<const Act> x, Mat<const float> w);

/// Per-group product: y[t, g*N + n] = Act( sum_k x[t, g*K + k] * W[g*N + n, k] ) for g < groups.
/// x [T, groups * K] Act, not quantised; w [groups * N, K]; y [T, groups * N].
/// Source: V4 model.py, Attention.forward, einsum("bsgd,grd->bsgr", o, wo_a).
template <class Act>
void grouped_gemm(cpu::Context&, Mat<Act> y, Mat<const Act> x, const Fp8Weight& w, int64_t groups);

}  // namespace octet::ops
