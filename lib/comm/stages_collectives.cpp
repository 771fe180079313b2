// Pipeline stages over MPI: who belongs to which, and what goes from one to the next.
#include <algorithm>
#include <exception>
#include <limits>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/mpi_handle.h"
#include "comm/mpi_session.h"
#include "comm/peer_memory.h"
#include "comm/timed.h"
#include "kernels/cpu/context.h"

namespace octet::comm {
namespace {

constexpr int kRowsTag = 1, kLogitsTag = 2;
constexpr size_t kMessageBytes = size_t{1} << 30;  // MPI counts are int

/// Calls part(pointer, bytes) for pieces that MPI can count.
template <class Byte, class Part>
void in_messages(std::span<Byte> bytes, Part&& part) {
  for (size_t i = 0; i < bytes.size(); i += kMessageBytes) {
    part(bytes.data() + i, static_cast<int>(std::min(kMessageBytes, bytes.size() - i)));
  }
}

}  // namespace

Communicator::Communicator(MpiSession& session, int stages)
    : session_(&session), handle_(std::make_unique<StageHandle>()), stages_(stages) {
  require(stages >= 1 && session.size() % stages == 0, "the ranks do not divide into the stages");
  const MPI_Comm world = session.handle().world;
  size_ = session.size() / stages;
  stage_ = session.rank() / size_;
  rank_ = session.rank() % size_;
  handle_->ranks = handle_->world = world;
  handle_->last_root = (stages - 1) * size_;
  if (stage_ > 0) handle_->previous = session.rank() - size_;
  if (stage_ < stages - 1) handle_->next = session.rank() + size_;
  if (stages == 1) return;
  check(MPI_Comm_split(world, stage_, rank_, &handle_->ranks), "split the ranks into stages");
  handle_->owned = true;
  MPI_Comm_set_errhandler(handle_->ranks, MPI_ERRORS_RETURN);
}

Communicator::~Communicator() {  // a destructor never throws: statuses are ignored
  peers_.reset();
  if (std::uncaught_exceptions() > 0) return;  // the other ranks may never come, and this one ends
  if (handle_->owned) MPI_Comm_free(&handle_->ranks);
}

// A blocking send: Open MPI moves a large message only while its sender is inside MPI, so that a send that returns at
// once would lie there until the end of the step. A stage waits for the next one's last part here, not longer.
void hand_over(cpu::Context& ctx, std::span<const std::byte> rows) {
  const Timed timed(*ctx.comm, {Collective::kHandOver});
  const StageHandle& handle = ctx.comm->handle();
  in_messages(rows, [&](const std::byte* data, int bytes) {
    check(MPI_Send(data, bytes, MPI_BYTE, handle.next, kRowsTag, handle.world), "hand over streams");
  });
}

void take_over(cpu::Context& ctx, std::span<std::byte> rows) {
  const Timed timed(*ctx.comm, {Collective::kHandOver});
  const StageHandle& handle = ctx.comm->handle();
  in_messages(rows, [&](std::byte* data, int bytes) {
    check(MPI_Recv(data, bytes, MPI_BYTE, handle.previous, kRowsTag, handle.world, MPI_STATUS_IGNORE),
          "take over streams");
  });
}

void deliver_logits(cpu::Context& ctx, std::span<float> logits) {
  if (ctx.comm == nullptr || ctx.comm->stages() == 1) return;
  const StageHandle& handle = ctx.comm->handle();
  const int rank = ctx.comm->session().rank();
  if (rank != 0 && rank != handle.last_root) return;
  const Timed timed(*ctx.comm, {Collective::kHandOver});
  in_messages(std::as_writable_bytes(logits), [&](std::byte* data, int bytes) {
    if (rank == 0) {
      check(MPI_Recv(data, bytes, MPI_BYTE, handle.last_root, kLogitsTag, handle.world, MPI_STATUS_IGNORE),
            "take the logits");
    } else {
      check(MPI_Send(data, bytes, MPI_BYTE, 0, kLogitsTag, handle.world), "deliver the logits");
    }
  });
}

}  // namespace octet::comm
