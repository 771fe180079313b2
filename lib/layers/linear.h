// A linear layer of the checkpoint's fp8 format: y = x W^T, the input quantised where --numerics says so.
#pragma once

#include "kernels/gemm.h"
#include "options/options.h"

namespace octet {

/// x with its fp8 codes when activations are quantised. One quantisation serves every linear that reads x.
/// Source: V4 model.py, linear (act_quant before fp8_gemm / fp4_gemm).
template <class Ctx, class Act>
ops::LinearInput<Act> linear_input(Ctx& ctx, Mat<const Act> x) {
  if (ctx.numerics != Numerics::kOfficial) return {x, {}, {}};
  Mat<fp8_e4m3> q = ctx.template alloc<fp8_e4m3>(x.dim[0], x.dim[1]);
  Mat<fp8_e8m0> scale = ctx.template alloc<fp8_e8m0>(x.dim[0], x.dim[1] / ops::kActBlock);
  ops::quantise_fp8<Act>(ctx, q, scale, x);
  return {x, q, scale};
}

/// y [T, N] Act in scratch.
template <class Ctx, class Act>
Mat<Act> linear(Ctx& ctx, const ops::LinearInput<Act>& x, const ops::Fp8Weight& w) {
  Mat<Act> y = ctx.template alloc<Act>(x.x.dim[0], w.q.dim[0]);
  ops::gemm(ctx, y, x, w);
  return y;
}

}  // namespace octet
