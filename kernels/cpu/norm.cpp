// Root-mean-square norms.
#include "kernels/norm.h"

#include "kernels/cpu/math.h"

namespace octet::ops {

template <class Act>
void rms_norm(cpu::Context&, Mat<Act> y, Mat<const Act> x, Vec<const bf16> w, float eps) {
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    const float mean = cpu::mean_square(x[t].data, x.dim[1]);
    const float r = 1.0f / std::sqrt(mean + eps);
    for (int64_t d = 0; d < x.dim[1]; ++d) {
      y[t][d] = static_cast<Act>(static_cast<float>(w[d]) * (static_cast<float>(x[t][d]) * r));
    }
  }
}

template <class Act>
void head_rms_norm(cpu::Context&, Mat<Act> q, float eps) {
  const auto act = [](float v) { return static_cast<float>(static_cast<Act>(v)); };
  for (int64_t r = 0; r < q.dim[0]; ++r) {
    double sum = 0;
    for (int64_t d = 0; d < q.dim[1]; ++d) {
      const float v = static_cast<float>(q[r][d]);
      sum += static_cast<double>(act(v * v));
    }
    const float mean = act(static_cast<float>(sum / static_cast<double>(q.dim[1])));
    const float factor = act(1.0f / std::sqrt(act(mean + eps)));
    for (int64_t d = 0; d < q.dim[1]; ++d) q[r][d] = static_cast<Act>(static_cast<float>(q[r][d]) * factor);
  }
}

template void rms_norm(cpu::Context&, Mat<bf16>, Mat<const bf16>, Vec<const bf16>, float);
template void rms_norm(cpu::Context&, Mat<float>, Mat<const float>, Vec<const bf16>, float);
template void head_rms_norm(cpu::Context&, Mat<bf16>, float);
template void head_rms_norm(cpu::Context&, Mat<float>, float);

}  // namespace octet::ops
