// The CPU collectives over MPI. MPI only moves bytes; the additions are ours, in rank order.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/mpi_handle.h"
#include "comm/mpi_session.h"
#include "comm/share.h"
#include "comm/timed.h"
#include "kernels/cpu/context.h"

namespace octet::comm {
namespace {

/// Elements summed at a time: bounds the receive buffer and keeps MPI's int counts safe.
constexpr int64_t kSliceElements = int64_t{1} << 20;
/// Up to this many elements every rank receives all addends (one collective); above, each rank sums its share first.
constexpr int64_t kOneShotElements = int64_t{1} << 13;

template <class T>
void sum_in_rank_order(T* out, const T* addends, int64_t ranks, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    float sum = static_cast<float>(addends[i]);
    for (int64_t r = 1; r < ranks; ++r) sum += static_cast<float>(addends[r * n + i]);
    out[i] = static_cast<T>(sum);
  }
}

template <class T>
void reduce_slice(cpu::Context& ctx, T* x, int64_t n) {
  const MPI_Comm world = ctx.comm->handle().ranks;
  const int64_t R = ctx.comm->size();
  const auto scope = ctx.scratch_scope();
  const auto bytes = [](int64_t elements) { return static_cast<int>(elements * static_cast<int64_t>(sizeof(T))); };
  if (is_one_shot(n)) {
    Vec<T> all = ctx.alloc<T>(R * n);
    check(MPI_Allgather(x, bytes(n), MPI_BYTE, all.data, bytes(n), MPI_BYTE, world), "all-reduce (gather)");
    sum_in_rank_order(x, all.data, R, n);
    return;
  }
  const int64_t share = (n + R - 1) / R;
  Vec<T> send = ctx.alloc<T>(R * share), receive = ctx.alloc<T>(R * share), mine = ctx.alloc<T>(share);
  std::copy(x, x + n, send.data);
  std::fill(send.data + n, send.data + R * share, T{});
  check(MPI_Alltoall(send.data, bytes(share), MPI_BYTE, receive.data, bytes(share), MPI_BYTE, world),
        "all-reduce (scatter)");
  sum_in_rank_order(mine.data, receive.data, R, share);
  check(MPI_Allgather(mine.data, bytes(share), MPI_BYTE, send.data, bytes(share), MPI_BYTE, world),
        "all-reduce (gather)");
  std::copy(send.data, send.data + n, x);
}

template <class T>
void reduce(cpu::Context& ctx, Mat<T> x, std::optional<Site> site) {
  if (ranks(ctx) == 1) {
    if (ctx.comm != nullptr) ctx.comm->count_reduction(site);
    return;
  }
  const Timed timed(*ctx.comm, {Collective::kAllReduce, site});
  for (int64_t i = 0; i < x.size(); i += kSliceElements) {
    reduce_slice(ctx, x.data + i, std::min(kSliceElements, x.size() - i));
  }
}

}  // namespace

int ranks(const cpu::Context& ctx) {
  return ctx.comm == nullptr ? 1 : ctx.comm->size();
}
int rank(const cpu::Context& ctx) {
  return ctx.comm == nullptr ? 0 : ctx.comm->rank();
}

bool is_one_shot(int64_t elements) {
  return elements <= kOneShotElements;
}

int stages(const cpu::Context& ctx) {
  return ctx.comm == nullptr ? 1 : ctx.comm->stages();
}

void all_reduce(cpu::Context& ctx, Mat<float> x, std::optional<Site> site) {
  reduce(ctx, x, site);
}
void all_reduce(cpu::Context& ctx, Mat<bf16> x, std::optional<Site> site) {
  reduce(ctx, x, site);
}

void gather_columns(cpu::Context& ctx, Mat<float> whole, Mat<const float> part) {
  if (ranks(ctx) == 1) {
    std::copy(part.begin(), part.end(), whole.data);
    return;
  }
  const Timed timed(*ctx.comm, {Collective::kGather});
  const MPI_Comm world = ctx.comm->handle().ranks;
  const int64_t R = ctx.comm->size(), n = part.dim[1];
  const auto scope = ctx.scratch_scope();
  const bool root = ctx.comm->rank() == 0;
  Vec<float> all = ctx.alloc<float>(root ? R * n : int64_t{0});
  for (int64_t s = 0; s < part.dim[0]; ++s) {
    check(MPI_Gather(part[s].data, static_cast<int>(n), MPI_FLOAT, all.data, static_cast<int>(n), MPI_FLOAT, 0, world),
          "gather of the logits");
    if (root) std::copy(all.begin(), all.end(), whole[s].data);
  }
}

void all_gather_rows(cpu::Context& ctx, Mat<float> whole, std::optional<Site> site) {
  if (ranks(ctx) == 1) return;
  const Timed timed(*ctx.comm, {Collective::kAllGather, site});
  const int R = ctx.comm->size();
  const int64_t n = whole.dim[1];
  std::vector<int> counts, offsets;
  for (int r = 0; r < R; ++r) {
    const Share share = share_of(whole.dim[0], R, r);
    counts.push_back(static_cast<int>(share.count * n));
    offsets.push_back(static_cast<int>(share.first * n));
  }
  check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole.data, counts.data(), offsets.data(), MPI_FLOAT,
                       ctx.comm->handle().ranks),
        "gather rows");
}

void broadcast(cpu::Context& ctx, Vec<int32_t> x) {
  if (ctx.comm == nullptr || ctx.comm->session().size() == 1 || x.empty()) return;
  const Timed timed(*ctx.comm, {Collective::kBroadcast});
  check(MPI_Bcast(x.data, static_cast<int>(x.dim[0]), MPI_INT32_T, 0, ctx.comm->handle().world),
        "broadcast of the tokens");
}

}  // namespace octet::comm
