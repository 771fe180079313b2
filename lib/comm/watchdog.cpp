// The window, the thread and the end of the process.
#include "comm/watchdog.h"

#include <fmt/core.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>

#include "base/error.h"
#include "comm/mpi_handle.h"

namespace octet::comm {
namespace {

constexpr double kTicksPerTimeout = 16;
constexpr Watchdog::Seconds kLongestTick{0.5};
constexpr int kStoppedTicks = 8;                 // without a heartbeat: the process does not run
constexpr Watchdog::Seconds kSpeakingTime{0.3};  // for the speaker's message, before its job is killed
constexpr double kForeignPatience = 1.5;         // times the time-out, when the culprit is on another host
constexpr size_t kSlotBytes = 128;               // two cache lines: nobody's stores disturb another rank's
static_assert(sizeof(Breadcrumbs) <= kSlotBytes);

[[noreturn]] void end_process() {
  _exit(static_cast<int>(Code::kWatchdog));
}

void say(const std::string& sentence) {
  const std::string line = fmt::format("octet: {}\n", sentence);
  const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());  // one call; stdio may be locked
  static_cast<void>(written);
}

}  // namespace

/// The node's communicator and its shared memory; private memory of one rank when MPI has none.
struct Watchdog::Window {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win win = MPI_WIN_NULL;
  Breadcrumbs alone;

  explicit Window(MPI_Comm world) {
    check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "find the ranks of this host");
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  }
  ~Window() {  // a destructor never throws: statuses are ignored
    if (win != MPI_WIN_NULL) MPI_Win_free(&win);
    MPI_Comm_free(&node);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Every rank's slot, its own initialised; empty when there is no shared memory.
  std::vector<Breadcrumbs*> map(int own, int ranks) {
    void* mine = nullptr;
    int mapped = MPI_Win_allocate_shared(kSlotBytes, 1, MPI_INFO_NULL, node, &mine, &win) == MPI_SUCCESS ? 1 : 0;
    int all = 0;
    check(MPI_Allreduce(&mapped, &all, 1, MPI_INT, MPI_MIN, node), "agree on shared memory");
    if (all == 0) return {};
    std::vector<Breadcrumbs*> slots;
    for (int r = 0; r < ranks; ++r) {
      MPI_Aint bytes = 0;
      int unit = 0;
      void* slot = nullptr;
      check(MPI_Win_shared_query(win, r, &bytes, &unit, &slot), "map the breadcrumbs of a rank");
      slots.push_back(static_cast<Breadcrumbs*>(slot));
    }
    new (slots[static_cast<size_t>(own)]) Breadcrumbs;
    check(MPI_Barrier(node), "pass a barrier");
    return slots;
  }
};

Watchdog::Watchdog(const MpiHandle& mpi, Seconds timeout, int stage)
    : window_(std::make_unique<Window>(mpi.world)), timeout_(timeout) {
  int own = 0, ranks = 1, world_rank = 0;
  check(MPI_Comm_rank(window_->node, &own), "read the rank");
  check(MPI_Comm_size(window_->node, &ranks), "read the number of ranks");
  check(MPI_Comm_rank(mpi.world, &world_rank), "read the rank");
  check(MPI_Comm_size(mpi.world, &world_), "read the number of ranks");
  node_ = window_->map(own, ranks);
  if (node_.empty()) {
    node_ = {&window_->alone};
    own = 0;
  }
  own_index_ = static_cast<size_t>(own);
  own_ = node_[own_index_];
  own_->world_rank = world_rank;
  own_->stage = stage;
  own_->process = ::getpid();
  heartbeats_.resize(node_.size());
  check(MPI_Barrier(window_->node), "pass a barrier");
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Watchdog::~Watchdog() {
  thread_.request_stop();
  thread_.join();  // before the window goes
}

void Watchdog::enter(const Place& place) {
  own_->place.store(pack(place), std::memory_order_relaxed);
  own_->moves.store(own_->moves.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Watchdog::leave() {
  own_->moves.store(own_->moves.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

/// Counts the time of this rank's present wait. A tick counts at most twice its length: a process that was stopped, or
/// starved, has not waited.
void Watchdog::watch(const std::stop_token& stop) {
  const Seconds tick = std::min(kLongestTick, timeout_ / kTicksPerTimeout);
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  Seconds waited{0};
  uint64_t seen = 0;
  auto before = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, tick, [] { return false; });
    const auto now = std::chrono::steady_clock::now();
    const Seconds passed = std::min(Seconds(now - before), 2 * tick);
    before = now;
    own_->heartbeat.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < node_.size(); ++i) {
      const uint64_t beat = node_[i]->heartbeat.load(std::memory_order_relaxed);
      heartbeats_[i].second = heartbeats_[i].first == beat ? heartbeats_[i].second + 1 : 0;
      heartbeats_[i].first = beat;
    }
    const int32_t speaker = node_[0]->speaker.load(std::memory_order_acquire);
    if (speaker >= 0) {
      std::this_thread::sleep_for(kSpeakingTime);
      end_process();
    }
    const uint64_t moves = own_->moves.load(std::memory_order_acquire);
    const bool waits = moves % 2 == 1 && moves == seen && armed_.load(std::memory_order_relaxed) > 0;
    waited = waits ? waited + passed : Seconds{0};
    seen = moves;
    if (waited > patience() && speak_if_hanging(waited)) end_process();
  }
}

/// A collective with a time-out of its own knows more of what it waits for: it speaks first.
Watchdog::Seconds Watchdog::patience() const {
  const Place place = unpack(own_->place.load(std::memory_order_relaxed));
  return place.what == Collective::kInt8AllReduce ? 2 * timeout_ : timeout_;
}

std::vector<RankView> Watchdog::look() const {
  std::vector<RankView> ranks;
  for (size_t i = 0; i < node_.size(); ++i) {
    const Breadcrumbs& b = *node_[i];
    RankView view{.rank = b.world_rank,
                  .stage = b.stage,
                  .moves = b.moves.load(std::memory_order_acquire),
                  .place = unpack(b.place.load(std::memory_order_relaxed)),
                  .step = b.step.load(std::memory_order_relaxed)};
    if (heartbeats_[i].second >= kStoppedTicks) view.process = RankView::Process::kStopped;
    if (::kill(b.process, 0) != 0 && errno == ESRCH) view.process = RankView::Process::kGone;
    ranks.push_back(view);
  }
  return ranks;
}

bool Watchdog::claim_the_word() {
  int32_t nobody = -1;
  return node_[0]->speaker.compare_exchange_strong(nobody, own_->world_rank.load());
}

void Watchdog::end_hanging(const std::string& sentence) {
  if (claim_the_word()) {
    say(sentence);
  } else {
    std::this_thread::sleep_for(kSpeakingTime);
  }
  end_process();
}

/// True when this rank has printed the message.
bool Watchdog::speak_if_hanging(Seconds waited) {
  for (const Breadcrumbs* rank : node_) {
    if (rank->failing.load(std::memory_order_relaxed) != 0) return false;
  }
  const std::vector<RankView> ranks = look();
  const bool here = culprit_is_here(ranks, own_index_) || ranks.size() == static_cast<size_t>(world_);
  if (!here && waited < kForeignPatience * timeout_) return false;
  if (!claim_the_word()) return false;
  say(hang_message(ranks, own_index_, world_, waited.count()));
  return true;
}

}  // namespace octet::comm
