// Matrix products: every weight format through the one loop of product.h.
#include "kernels/gemm.h"

#include "kernels/cpu/product.h"

namespace octet::ops {
namespace {

int64_t weight_rows(const Fp8Weight& w) {
  return w.q.dim[0];
}
int64_t weight_cols(const Fp8Weight& w) {
  return w.q.dim[1];
}
template <class E>
int64_t weight_rows(Mat<const E> w) {
  return w.dim[0];
}
template <class E>
int64_t weight_cols(Mat<const E> w) {
  return w.dim[1];
}

template <class Out, class Weight>
void run(cpu::Context& ctx, Mat<Out> y, Mat<const float> x, const Weight& w) {
  require(x.dim[1] == weight_cols(w) && y.dim[1] == weight_rows(w) && y.dim[0] == x.dim[0], "gemm: shapes disagree");
  cpu::product(
      ctx, x, weight_rows(w), [&](int64_t n, float* out) { cpu::read_row(out, w, n); }, cpu::store_rounded(y));
}

}  // namespace

template <class Out, class Act>
void gemm(cpu::Context& ctx, Mat<Out> y, const LinearInput<Act>& x, const Fp8Weight& w) {
  const auto scope = ctx.scratch_scope();
  run(ctx, y, cpu::as_float(ctx, x), w);
}

template <class Out, class Act>
void gemm(cpu::Context& ctx, Mat<Out> y, Mat<const Act> x, const Fp8Weight& w) {
  const auto scope = ctx.scratch_scope();
  run(ctx, y, cpu::as_float(ctx, x), w);
}

template <class Out, class Act>
void gemm(cpu::Context& ctx, Mat<Out> y, Mat<const Act> x, Mat<const bf16> w) {
  const auto scope = ctx.scratch_scope();
  run(ctx, y, cpu::as_float(ctx, x), w);
}

template <class Out, class Act>
void gemm(cpu::Context& ctx, Mat<Out> y, Mat<const Act> x, Mat<const float> w) {
  const auto scope = ctx.scratch_scope();
  run(ctx, y, cpu::as_float(ctx, x), w);
}

template <class Act>
void grouped_gemm(cpu::Context& ctx, Mat<Act> y, Mat<const Act> x, const Fp8Weight& w, int64_t groups) {
  const int64_t T = x.dim[0], K = w.q.dim[1], N = w.q.dim[0] / groups;
  require(x.dim[1] == groups * K && y.dim[1] == groups * N && y.dim[0] == T, "grouped_gemm: shapes disagree");
  const auto scope = ctx.scratch_scope();
  Mat<float> part = ctx.alloc<float>(T, K);
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t t = 0; t < T; ++t) cpu::widen(part[t].data, x[t].data + g * K, K);
    cpu::product(
        ctx, part, N, [&](int64_t n, float* out) { cpu::read_row(out, w, g * N + n); }, cpu::store_rounded(y, g * N));
  }
}

template void gemm(cpu::Context&, Mat<bf16>, const LinearInput<bf16>&, const Fp8Weight&);
template void gemm(cpu::Context&, Mat<float>, const LinearInput<bf16>&, const Fp8Weight&);
template void gemm(cpu::Context&, Mat<float>, const LinearInput<float>&, const Fp8Weight&);
template void gemm(cpu::Context&, Mat<bf16>, Mat<const bf16>, const Fp8Weight&);
template void gemm(cpu::Context&, Mat<float>, Mat<const bf16>, const Fp8Weight&);
template void gemm(cpu::Context&, Mat<float>, Mat<const float>, const Fp8Weight&);
template void gemm(cpu::Context&, Mat<bf16>, Mat<const bf16>, Mat<const bf16>);
template void gemm(cpu::Context&, Mat<float>, Mat<const bf16>, Mat<const bf16>);
template void gemm(cpu::Context&, Mat<float>, Mat<const float>, Mat<const bf16>);
template void gemm(cpu::Context&, Mat<bf16>, Mat<const bf16>, Mat<const float>);
template void gemm(cpu::Context&, Mat<float>, Mat<const bf16>, Mat<const float>);
template void gemm(cpu::Context&, Mat<float>, Mat<const float>, Mat<const float>);
template void grouped_gemm(cpu::Context&, Mat<bf16>, Mat<const bf16>, const Fp8Weight&, int64_t);
template void grouped_gemm(cpu::Context&, Mat<float>, Mat<const float>, const Fp8Weight&, int64_t);

}  // namespace octet::ops
