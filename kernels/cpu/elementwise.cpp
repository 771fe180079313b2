// Moving rows.
#include "kernels/elementwise.h"

#include <algorithm>

#include "kernels/cpu/context.h"

namespace octet::ops {

template <class Act>
void gather_rows(cpu::Context&, Mat<Act> y, Mat<const Act> x, Vec<const int64_t> rows) {
  for (int64_t i = 0; i < rows.dim[0]; ++i) {
    const Vec<const Act> row = x[rows[i]];
    std::copy(row.begin(), row.end(), y[i].begin());
  }
}

template <class Act>
void round_to(cpu::Context&, Mat<Act> y, Mat<const float> x) {
  std::transform(x.begin(), x.end(), y.begin(), [](float v) { return static_cast<Act>(v); });
}

template void gather_rows(cpu::Context&, Mat<bf16>, Mat<const bf16>, Vec<const int64_t>);
template void gather_rows(cpu::Context&, Mat<float>, Mat<const float>, Vec<const int64_t>);
template void round_to(cpu::Context&, Mat<bf16>, Mat<const float>);
template void round_to(cpu::Context&, Mat<float>, Mat<const float>);

}  // namespace octet::ops
