// Which transport carries the int8 sum.
#include "base/error.h"
#include "comm/collectives.h"
#include "comm/mpi_int8.h"
#include "comm/peer_memory.h"
#include "comm/timed.h"
#include "kernels/cpu/context.h"

namespace octet::comm {

void all_reduce_int8(cpu::Context& ctx, const int8::Rows& out, Mat<const float> x, std::optional<Site> site) {
  require(x.size() == out.q.size() && out.q.size() == out.blocks() * int8::kBlock,
          "all_reduce_int8: codes and scales do not match the payload");
  if (ranks(ctx) == 1) {
    for (int64_t b = 0; b < out.blocks(); ++b) {
      out.scale.data[b] = int8::encode(out.q.data + b * int8::kBlock, x.data + b * int8::kBlock);
    }
    if (ctx.comm != nullptr) ctx.comm->count_reduction(site);
    return;
  }
  if (PeerMemory* peers = ctx.comm->peers()) {
    const Timed timed(*ctx.comm, {Collective::kInt8AllReduce, site});
    return peers->sum_int8(out, x, site);
  }
  const Timed timed(*ctx.comm, {Collective::kAllReduce, site});
  sum_int8_by_messages(ctx, out, x);
}

bool Communicator::map_peer_memory(int64_t most_blocks, double timeout) {
  if (size_ == 1) return false;
  if (peers_ && peers_->most_blocks() >= most_blocks) return true;
  peers_.reset();
  peers_ = PeerMemory::map(*handle_, rank_, size_, most_blocks, timeout);
  return peers_ != nullptr;
}

}  // namespace octet::comm
