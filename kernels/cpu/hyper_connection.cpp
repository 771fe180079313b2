// Hyper-connection mixing: coefficients in fp32, streams in Act.
#include "kernels/hyper_connection.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/product.h"

namespace octet::ops {

template <class Act>
void hc_expand(cpu::Context&, Cube<Act> h, Mat<const Act> x) {
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    for (int64_t i = 0; i < h.dim[1]; ++i) std::copy(x[t].begin(), x[t].end(), h[t][i].begin());
  }
}

namespace {

/// mixes = (fn . v) * rsqrt(square(t) / width + eps), the sum of squares by row from `square`.
template <class Act, class Square>
void mix(cpu::Context& ctx, Mat<float> mixes, Cube<const Act> h, Mat<const float> fn, float norm_eps, Square square) {
  const int64_t T = h.dim[0], width = h.dim[1] * h.dim[2];
  require(fn.dim[1] == width && mixes.dim[1] == fn.dim[0], "hc_mixes: shapes disagree");
  const auto scope = ctx.scratch_scope();
  const Mat<const float> v = cpu::as_float(ctx, Mat<const Act>(h.data, T, width));
  Vec<float> rho = ctx.alloc<float>(T);
  for (int64_t t = 0; t < T; ++t) rho[t] = 1.0f / std::sqrt(square(v, t) / static_cast<float>(width) + norm_eps);
  cpu::product(
      ctx, v, fn.dim[0], [&](int64_t k, float* out) { cpu::read_row(out, fn, k); },
      [&](int64_t t, int64_t k, const float* m, int64_t count) {
        for (int64_t i = 0; i < count; ++i) mixes[t][k + i] = m[i] * rho[t];
      });
}

}  // namespace

template <class Act>
void hc_mixes(cpu::Context& ctx, Mat<float> mixes, Cube<const Act> h, Mat<const float> fn, float norm_eps) {
  mix(ctx, mixes, h, fn, norm_eps,
      [](Mat<const float> v, int64_t t) { return cpu::sum_of_squares(v[t].data, v.dim[1]); });
}

template <class Act>
void hc_mixes(cpu::Context& ctx, Mat<float> mixes, Cube<const Act> h, Vec<const float> squares, Mat<const float> fn,
              float norm_eps) {
  require(squares.dim[0] == h.dim[0], "hc_mixes: shapes disagree");
  mix(ctx, mixes, h, fn, norm_eps, [&](Mat<const float>, int64_t t) { return squares[t]; });
}

template <class Act>
void hc_expand_mixes(cpu::Context& ctx, Cube<Act> h, Mat<float> mixes, Mat<const Act> x, Mat<const float> fn,
                     float norm_eps) {
  hc_expand(ctx, h, x);
  hc_mixes<Act>(ctx, mixes, h, fn, norm_eps);
}

namespace {

/// c [hc, hc] holds the logits and becomes the doubly normalised matrix.
void sinkhorn(Mat<float> c, int64_t iters, float eps) {
  const int64_t n = c.dim[0];
  for (int64_t i = 0; i < n; ++i) {
    const float top = *std::max_element(c[i].begin(), c[i].end());
    float sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += c[i][j] = std::exp(c[i][j] - top);
    for (int64_t j = 0; j < n; ++j) c[i][j] = c[i][j] / sum + eps;
  }
  const auto columns = [&] {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += c[i][j];
      for (int64_t i = 0; i < n; ++i) c[i][j] /= sum + eps;
    }
  };
  const auto rows = [&] {
    for (int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += c[i][j];
      for (int64_t j = 0; j < n; ++j) c[i][j] /= sum + eps;
    }
  };
  columns();
  for (int64_t k = 1; k < iters; ++k) {
    rows();
    columns();
  }
}

}  // namespace

void hc_split_sinkhorn(cpu::Context&, Mat<float> pre, Mat<float> post, Cube<float> comb, Mat<const float> mixes,
                       const HcWeights& w, int64_t iters, float eps) {
  const int64_t hc = pre.dim[1];
  for (int64_t t = 0; t < mixes.dim[0]; ++t) {
    for (int64_t i = 0; i < hc; ++i) {
      pre[t][i] = cpu::sigmoid(mixes[t][i] * w.scale[0] + w.base[i]) + eps;
      post[t][i] = 2.0f * cpu::sigmoid(mixes[t][hc + i] * w.scale[1] + w.base[hc + i]);
    }
    for (int64_t k = 0; k < hc * hc; ++k) {
      comb[t].data[k] = mixes[t][2 * hc + k] * w.scale[2] + w.base[2 * hc + k];
    }
    sinkhorn(comb[t], iters, eps);
  }
}

void hc_head_gates(cpu::Context&, Mat<float> pre, Mat<const float> mixes, const HcWeights& w, float eps) {
  for (int64_t t = 0; t < mixes.dim[0]; ++t) {
    for (int64_t i = 0; i < mixes.dim[1]; ++i) {
      pre[t][i] = cpu::sigmoid(mixes[t][i] * w.scale[0] + w.base[i]) + eps;
    }
  }
}

template <class Act>
void hc_weighted_sum(cpu::Context& ctx, Mat<Act> y, Cube<const Act> h, Mat<const float> pre) {
  const int64_t hc = h.dim[1], D = h.dim[2];
  const auto scope = ctx.scratch_scope();
  Vec<float> stream = ctx.alloc<float>(D), sum = ctx.alloc<float>(D);
  for (int64_t t = 0; t < h.dim[0]; ++t) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int64_t i = 0; i < hc; ++i) {
      cpu::widen(stream.data, h[t][i].data, D);
      cpu::add_scaled(sum.data, pre[t][i], stream.data, D);
    }
    cpu::narrow(y[t].data, sum.data, D);
  }
}

namespace {

/// The streams after a sub-layer; read(t, row) gives x[t] in fp32.
template <class Act, class Read>
void post(cpu::Context& ctx, Cube<Act> h, Mat<const float> post, Cube<const float> comb, Read read) {
  const int64_t hc = h.dim[1], D = h.dim[2];
  const auto scope = ctx.scratch_scope();
  Mat<float> old = ctx.alloc<float>(hc, D);
  Vec<float> in = ctx.alloc<float>(D), sum = ctx.alloc<float>(D);
  for (int64_t t = 0; t < h.dim[0]; ++t) {
    cpu::widen(old.data, h[t].data, hc * D);
    read(t, in.data);
    for (int64_t j = 0; j < hc; ++j) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int64_t i = 0; i < hc; ++i) cpu::add_scaled(sum.data, comb[t][i][j], old[i].data, D);
      cpu::add_scaled(sum.data, post[t][j], in.data, D);
      cpu::narrow(h[t][j].data, sum.data, D);
    }
  }
}

}  // namespace

template <class Act>
void hc_post(cpu::Context& ctx, Cube<Act> h, Mat<const Act> x, Mat<const float> post_gates, Cube<const float> comb) {
  post(ctx, h, post_gates, comb, [&](int64_t t, float* row) { cpu::widen(row, x[t].data, x.dim[1]); });
}

template <class Act>
void hc_post(cpu::Context& ctx, Cube<Act> h, const int8::Rows& x, Mat<const float> post_gates, Cube<const float> comb) {
  post(ctx, h, post_gates, comb, [&](int64_t t, float* row) {
    for (int64_t b = 0; b < x.scale.dim[1]; ++b) {
      int8::decode(row + b * int8::kBlock, x.q[t].data + b * int8::kBlock, x.scale[t][b]);
    }
  });
}

template <class Act, class X>
void hc_post_sqrsum(cpu::Context& ctx, Vec<float> squares, Cube<Act> h, const X& x, Mat<const float> post_gates,
                    Cube<const float> comb) {
  hc_post(ctx, h, x, post_gates, comb);
  for (int64_t t = 0; t < h.dim[0]; ++t) squares[t] = cpu::sum_of_squares(h[t].data, h.dim[1] * h.dim[2]);
}

template void hc_expand(cpu::Context&, Cube<bf16>, Mat<const bf16>);
template void hc_expand(cpu::Context&, Cube<float>, Mat<const float>);
template void hc_mixes(cpu::Context&, Mat<float>, Cube<const bf16>, Mat<const float>, float);
template void hc_mixes(cpu::Context&, Mat<float>, Cube<const float>, Mat<const float>, float);
template void hc_mixes(cpu::Context&, Mat<float>, Cube<const bf16>, Vec<const float>, Mat<const float>, float);
template void hc_mixes(cpu::Context&, Mat<float>, Cube<const float>, Vec<const float>, Mat<const float>, float);
template void hc_expand_mixes(cpu::Context&, Cube<bf16>, Mat<float>, Mat<const bf16>, Mat<const float>, float);
template void hc_expand_mixes(cpu::Context&, Cube<float>, Mat<float>, Mat<const float>, Mat<const float>, float);
template void hc_weighted_sum(cpu::Context&, Mat<bf16>, Cube<const bf16>, Mat<const float>);
template void hc_weighted_sum(cpu::Context&, Mat<float>, Cube<const float>, Mat<const float>);
template void hc_post(cpu::Context&, Cube<bf16>, Mat<const bf16>, Mat<const float>, Cube<const float>);
template void hc_post(cpu::Context&, Cube<float>, Mat<const float>, Mat<const float>, Cube<const float>);
template void hc_post(cpu::Context&, Cube<bf16>, const int8::Rows&, Mat<const float>, Cube<const float>);
template void hc_post(cpu::Context&, Cube<float>, const int8::Rows&, Mat<const float>, Cube<const float>);
template void hc_post_sqrsum(cpu::Context&, Vec<float>, Cube<bf16>, const Mat<const bf16>&, Mat<const float>,
                             Cube<const float>);
template void hc_post_sqrsum(cpu::Context&, Vec<float>, Cube<float>, const Mat<const float>&, Mat<const float>,
                             Cube<const float>);
template void hc_post_sqrsum(cpu::Context&, Vec<float>, Cube<bf16>, const int8::Rows&, Mat<const float>,
                             Cube<const float>);
template void hc_post_sqrsum(cpu::Context&, Vec<float>, Cube<float>, const int8::Rows&, Mat<const float>,
                             Cube<const float>);

}  // namespace octet::ops
