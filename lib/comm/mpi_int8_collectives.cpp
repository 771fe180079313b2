// The int8 sum over messages: works between any hosts, and is what the peer-memory transport must equal to the byte.
#include <algorithm>
#include <vector>

#include "comm/collectives.h"
#include "comm/mpi_handle.h"
#include "comm/mpi_int8.h"
#include "comm/share.h"
#include "kernels/cpu/context.h"

namespace octet::comm {
namespace {

using int8::kBlock;

/// Blocks summed at a time: keeps MPI's int counts safe and the buffers small.
constexpr int64_t kSliceBlocks = int64_t{1} << 18;

/// Element counts and offsets of every rank's part, in units of `width` elements.
struct Parts {
  std::vector<int> counts, offsets;
};

Parts shares(int64_t blocks, int ranks, int64_t width) {
  Parts parts;
  for (int r = 0; r < ranks; ++r) {
    const Share share = share_of(blocks, ranks, r);
    parts.counts.push_back(static_cast<int>(share.count * width));
    parts.offsets.push_back(static_cast<int>(share.first * width));
  }
  return parts;
}

Parts equal_parts(int64_t blocks, int ranks, int64_t width) {
  Parts parts;
  for (int r = 0; r < ranks; ++r) {
    parts.counts.push_back(static_cast<int>(blocks * width));
    parts.offsets.push_back(static_cast<int>(r * blocks * width));
  }
  return parts;
}

void sum_slice(cpu::Context& ctx, int8_t* q, bf16* scale, const float* x, int64_t blocks) {
  const MPI_Comm world = ctx.comm->handle().ranks;
  const int R = ctx.comm->size();
  const Share own = share_of(blocks, R, ctx.comm->rank());
  const auto scope = ctx.scratch_scope();
  for (int64_t b = 0; b < blocks; ++b) scale[b] = int8::encode(q + b * kBlock, x + b * kBlock);

  Cube<int8_t> codes = ctx.alloc<int8_t>(R, own.count, kBlock);
  Mat<bf16> scales = ctx.alloc<bf16>(R, own.count);
  const auto scatter = [&](const void* from, void* to, int64_t width, MPI_Datatype type) {
    const Parts send = shares(blocks, R, width), receive = equal_parts(own.count, R, width);
    check(MPI_Alltoallv(from, send.counts.data(), send.offsets.data(), type, to, receive.counts.data(),
                        receive.offsets.data(), type, world),
          "int8 all-reduce (scatter)");
  };
  scatter(q, codes.data, kBlock, MPI_INT8_T);
  scatter(scale, scales.data, 1, MPI_UINT16_T);

  for (int64_t b = 0; b < own.count; ++b) {
    double sum[kBlock] = {};
    for (int64_t r = 0; r < R; ++r) int8::add_decoded(sum, codes[r][b].data, scales[r][b]);
    scale[own.first + b] = int8::encode_sum(q + (own.first + b) * kBlock, sum);
  }

  const auto gather = [&](void* to, int64_t width, MPI_Datatype type) {
    const Parts parts = shares(blocks, R, width);
    check(
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, parts.counts.data(), parts.offsets.data(), type, world),
        "int8 all-reduce (gather)");
  };
  gather(q, kBlock, MPI_INT8_T);
  gather(scale, 1, MPI_UINT16_T);
}

}  // namespace

void sum_int8_by_messages(cpu::Context& ctx, const int8::Rows& out, Mat<const float> x) {
  for (int64_t b = 0; b < out.blocks(); b += kSliceBlocks) {
    sum_slice(ctx, out.q.data + b * kBlock, out.scale.data + b, x.data + b * kBlock,
              std::min(kSliceBlocks, out.blocks() - b));
  }
}

}  // namespace octet::comm
