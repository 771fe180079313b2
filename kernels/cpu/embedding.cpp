// Vocabulary-sharded lookup.
#include "kernels/embedding.h"

#include "kernels/cpu/math.h"

namespace octet::ops {

template <class Act>
void embedding(cpu::Context&, Mat<Act> y, Vec<const int32_t> ids, Mat<const bf16> table, int64_t first_id) {
  for (int64_t t = 0; t < ids.dim[0]; ++t) {
    const int64_t row = ids[t] - first_id;
    const bool here = row >= 0 && row < table.dim[0];
    for (int64_t d = 0; d < y.dim[1]; ++d) y[t][d] = static_cast<Act>(here ? static_cast<float>(table[row][d]) : 0.0f);
  }
}

template void embedding(cpu::Context&, Mat<bf16>, Vec<const int32_t>, Mat<const bf16>, int64_t);
template void embedding(cpu::Context&, Mat<float>, Vec<const int32_t>, Mat<const bf16>, int64_t);

}  // namespace octet::ops
