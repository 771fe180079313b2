// See mpi_session.h. Failures travel as (rank, code) by one all-reduce and the sentence by one broadcast, so the funnel
// costs a few microseconds when nothing failed.
#include "comm/mpi_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "comm/mpi_handle.h"
#include "comm/watchdog.h"

namespace octet::comm {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kMeetingTime{1.0};  // a rank that fails with the others arrives well within it
// A signal reaches all ranks at once, but not between the same two steps; mpirun kills a second after its own.
constexpr Seconds kStoppingTime{0.25};
constexpr Seconds kSpeakingStagger{0.15};  // lets the lowest failing rank speak and abort before the next one speaks
constexpr size_t kBroadcastBytes = size_t{1} << 30;  // MPI counts are int

/// A broken invariant shows its place; other errors are about the user's things and do not.
std::string full_sentence(const Error& e) {
  if (e.code() != Code::kInternal) return e.what();
  return fmt::format("{} ({}:{})", e.what(), e.where().file, e.where().line);
}

}  // namespace

void check(int status, std::string_view attempt, SourceLoc where) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(Code::kEnvironment, fmt::format("MPI failed to {}: {}", attempt, text), where);
}

MpiSession::MpiSession(int& argc, char**& argv) : handle_(std::make_unique<MpiHandle>()) {
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "start");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "set the error handler");
  check(MPI_Comm_dup(MPI_COMM_WORLD, &handle_->world), "copy the world communicator");
  check(MPI_Comm_dup(MPI_COMM_WORLD, &handle_->failures), "copy the world communicator");
  check(MPI_Comm_rank(handle_->world, &rank_), "read the rank");
  check(MPI_Comm_size(handle_->world, &size_), "read the number of ranks");
}

MpiSession::~MpiSession() {  // a destructor never throws: statuses are ignored
  watchdog_.reset();
  MPI_Comm_free(&handle_->failures);
  MPI_Comm_free(&handle_->world);
  MPI_Finalize();
}

void MpiSession::watch(double timeout_seconds, int stage) {
  if (size_ > 1 && !watchdog_) watchdog_ = std::make_unique<Watchdog>(*handle_, Seconds(timeout_seconds), stage);
}

void MpiSession::barrier() {
  const Watchdog::Trail trail(watchdog_.get(), {Collective::kBarrier});
  check(MPI_Barrier(handle_->world), "pass a barrier");
}

bool MpiSession::agree(bool ok) {
  const Watchdog::Trail trail(watchdog_.get(), {Collective::kAgreement});
  int all = ok ? 1 : 0;
  check(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, handle_->world), "agree");
  return all == 1;
}

void MpiSession::share_failure(const std::optional<Error>& own) {
  const Watchdog::Trail trail(watchdog_.get(), {Collective::kAgreement});
  int first = own ? rank_ : size_;
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, handle_->world), "find the first failing rank");
  if (first == size_) return;
  int code = 0;
  std::string sentence;
  if (first == rank_) {
    code = static_cast<int>(own->code());
    sentence = full_sentence(*own);
    if (first != 0) sentence = fmt::format("rank {}: {}", first, sentence);
  }
  check(MPI_Bcast(&code, 1, MPI_INT, first, handle_->world), "share an error code");
  unsigned long long length = sentence.size();
  check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, first, handle_->world), "share an error's length");
  sentence.resize(length);
  check(MPI_Bcast(sentence.data(), static_cast<int>(length), MPI_BYTE, first, handle_->world), "share an error");
  throw AgreedError(static_cast<Code>(code), sentence);
}

void MpiSession::broadcast(void* data, size_t bytes) {
  const Watchdog::Trail trail(watchdog_.get(), {Collective::kBroadcast});
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const size_t part = std::min(bytes, kBroadcastBytes);
    check(MPI_Bcast(next, static_cast<int>(part), MPI_BYTE, 0, handle_->world), "broadcast");
    next += part;
    bytes -= part;
  }
}

void MpiSession::broadcast(std::string& text) {
  unsigned long long length = text.size();
  check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, handle_->world), "broadcast a length");
  text.resize(length);
  broadcast(text.data(), length);
}

std::vector<double> MpiSession::all_gather(std::span<const double> own) {
  const Watchdog::Trail trail(watchdog_.get(), {Collective::kGather});
  const int count = static_cast<int>(own.size());
  std::vector<double> all(own.size() * static_cast<size_t>(size_));
  check(MPI_Allgather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, handle_->world), "gather");
  return all;
}

std::vector<std::string> MpiSession::gather_texts(const std::string& own) {
  const Watchdog::Trail trail(watchdog_.get(), {Collective::kGather});
  const auto ranks = static_cast<size_t>(size_);
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(ranks), offsets(ranks, 0);
  check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, handle_->world), "gather lengths");
  for (size_t r = 1; r < ranks; ++r) offsets[r] = offsets[r - 1] + lengths[r - 1];
  std::string all(static_cast<size_t>(offsets.back() + lengths.back()), '\0');
  check(MPI_Allgatherv(own.data(), length, MPI_BYTE, all.data(), lengths.data(), offsets.data(), MPI_BYTE,
                       handle_->world),
        "gather texts");
  std::vector<std::string> texts;
  for (size_t r = 0; r < ranks; ++r) {
    texts.push_back(all.substr(static_cast<size_t>(offsets[r]), static_cast<size_t>(lengths[r])));
  }
  return texts;
}

std::optional<Code> MpiSession::meet_failing(Code own) {
  if (size_ == 1) return own;
  if (watchdog_) watchdog_->stand_down();  // the others wait, and will hear why from here
  int code = static_cast<int>(own);
  MPI_Request meeting = MPI_REQUEST_NULL;
  if (MPI_Ibcast(&code, 1, MPI_INT, 0, handle_->failures, &meeting) != MPI_SUCCESS) return std::nullopt;
  MPI_Request arrival = MPI_REQUEST_NULL;  // a broadcast alone would not tell rank 0 that the others came
  if (MPI_Ibarrier(handle_->failures, &arrival) != MPI_SUCCESS) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  const Seconds patience = (own == Code::kInterrupted ? kStoppingTime : kMeetingTime) + rank_ * kSpeakingStagger;
  MPI_Request both[] = {meeting, arrival};
  int done = 0;
  while (done == 0) {
    if (MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return std::nullopt;
    if (done == 0 && std::chrono::steady_clock::now() - start > patience) return std::nullopt;
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return static_cast<Code>(code);
}

bool MpiSession::hang_was_reported() const {
  return watchdog_ && watchdog_->has_spoken();
}

void MpiSession::end_hanging(const std::string& sentence) {
  if (watchdog_) watchdog_->end_hanging(sentence);
  abort(Code::kWatchdog);  // not reached: a wait that ends in time has a watchdog beside it
}

void MpiSession::abort(Code code) {
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::exit(static_cast<int>(code));  // not reached: MPI_Abort does not return, but is not declared so
}

Error MpiSession::as_error(const std::exception& thrown) {
  if (const auto* error = dynamic_cast<const Error*>(&thrown)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    return Error(Code::kMemory, "the machine has no memory left");
  }
  return Error(Code::kInternal, thrown.what());
}

}  // namespace octet::comm
