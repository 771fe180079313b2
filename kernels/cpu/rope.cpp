// Rotary embedding. The angle is one fp32 product, as in the reference's table; its sine and cosine are taken in
// double.
#include "kernels/rope.h"

#include "kernels/cpu/math.h"

namespace octet::ops {

template <class Act>
void rope(cpu::Context&, Cube<Act> x, Vec<const int64_t> positions, Vec<const float> frequencies, Rotation rotation) {
  const int64_t pairs = frequencies.dim[0];
  const int64_t first = x.dim[2] - 2 * pairs;
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    for (int64_t i = 0; i < pairs; ++i) {
      const float phi = static_cast<float>(positions[t]) * frequencies[i];
      const float c = static_cast<float>(std::cos(static_cast<double>(phi)));
      const float sine = static_cast<float>(std::sin(static_cast<double>(phi)));
      const float s = rotation == Rotation::kForward ? sine : -sine;
      for (int64_t h = 0; h < x.dim[1]; ++h) {
        Act* pair = x[t][h].data + first + 2 * i;
        const float x0 = static_cast<float>(pair[0]), x1 = static_cast<float>(pair[1]);
        pair[0] = static_cast<Act>(x0 * c - x1 * s);
        pair[1] = static_cast<Act>(x0 * s + x1 * c);
      }
    }
  }
}

template void rope(cpu::Context&, Cube<bf16>, Vec<const int64_t>, Vec<const float>, Rotation);
template void rope(cpu::Context&, Cube<float>, Vec<const int64_t>, Vec<const float>, Rotation);

}  // namespace octet::ops
