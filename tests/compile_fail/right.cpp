// The positive twin: the one right way from a share to the streams. The other files differ from it in one step each, so
// that they fail to compile for that step alone.
#include <utility>

#include "kernels/cpu/context.h"
#include "layers/hyper_connection.h"
#include "layers/reduce.h"

namespace octet {

void right(cpu::Context& ctx, Mat<float> rows, Streams<bf16>& streams, Mat<const float> post_weight,
           Cube<const float> comb) {
  Partial partial(rows);
  Reduced<bf16> sum = reduce(ctx, std::move(partial), streams.reduced, {0, Site::Kind::kAttn});
  post(ctx, streams, Carry<bf16>{sum, post_weight, comb});
  sum.visit([&](const auto& x) { ops::hc_post<bf16>(ctx, streams.h, x, post_weight, comb); });
}

}  // namespace octet
