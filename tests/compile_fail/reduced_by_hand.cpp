// Must not compile: a sum is declared without a reduction.
// One step differs from right.cpp.
#include <utility>

#include "kernels/cpu/context.h"
#include "layers/hyper_connection.h"
#include "layers/reduce.h"

namespace octet {

void reduced_by_hand(cpu::Context& ctx, Mat<float> rows, Streams<bf16>& streams, Mat<const float> post_weight,
                     Cube<const float> comb) {
  Partial partial(rows);
  Reduced<bf16> sum(Mat<const bf16>(streams.reduced.rows));
  post(ctx, streams, Carry<bf16>{sum, post_weight, comb});
  sum.visit([&](const auto& x) { ops::hc_post<bf16>(ctx, streams.h, x, post_weight, comb); });
}

}  // namespace octet
