// Health of int8 sums.
#include "kernels/sum_health.h"

#include <cmath>

#include "kernels/cpu/context.h"

namespace octet::ops {

void sample_int8(cpu::Context&, SiteHealth& health, Mat<const float> x) {
  ++health.sums;
  for (int64_t k = 0; k < x.dim[1]; k += int8::kBlock) {
    const float* values = x[0].data + k;
    int8_t q[int8::kBlock];
    float decoded[int8::kBlock];
    const bf16 scale = int8::encode(q, values);
    int8::decode(decoded, q, scale);
    const float most = (int8::kTopCode + 0.5f) * static_cast<float>(scale);
    for (int64_t i = 0; i < int8::kBlock; ++i) {
      if (!std::isfinite(values[i])) continue;  // counted with the blocks of the sum
      const double off = static_cast<double>(values[i]) - static_cast<double>(decoded[i]);
      ++health.sampled;
      health.clipped += std::fabs(values[i]) > most && most > 0 ? 1 : 0;
      health.signal += static_cast<double>(values[i]) * static_cast<double>(values[i]);
      health.noise += std::isfinite(off) ? off * off : 0;
    }
  }
}

void count_int8_blocks(cpu::Context&, SiteHealth& health, const int8::Rows& sum) {
  health.blocks += sum.blocks();
  for (const bf16 scale : sum.scale) {
    const float s = static_cast<float>(scale);
    health.zero_blocks += s == 0 ? 1 : 0;
    health.broken_blocks += std::isnan(s) ? 1 : 0;
  }
}

}  // namespace octet::ops
