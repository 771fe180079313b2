// The barrier of peer memory with threads as ranks: it holds ranks back, survives wrap-around and delays, and nobody
// waits for ever.
#include "comm/signals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/error.h"

namespace octet::comm {
namespace {

using namespace std::chrono_literals;

constexpr Site kSite{3, Site::Kind::kFfn};

/// The words of all ranks, at the epoch of an operation that everyone has left.
struct Words {
  std::vector<std::unique_ptr<Signals>> own;
  explicit Words(int ranks, uint32_t epoch = 0) {
    for (int r = 0; r < ranks; ++r) {
      own.push_back(std::make_unique<Signals>());
      for (auto& phase : own.back()->arrived) {
        for (auto& channel : phase) {
          for (SignalWord& word : channel) word.value = epoch;
        }
      }
    }
  }
  std::vector<Signals*> all() const {
    std::vector<Signals*> pointers;
    for (const auto& words : own) pointers.push_back(words.get());
    return pointers;
  }
};

/// Runs work(rank, barrier) on a thread for every rank; the sentences of their errors, empty for none.
template <class Work>
std::vector<std::string> on_ranks(int ranks, double timeout, uint32_t first_epoch, Work work) {
  const Words words(ranks, first_epoch);
  std::vector<std::string> sentences(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      Barrier barrier(words.all(), r, Barrier::Seconds(timeout), first_epoch);
      try {
        work(r, barrier);
      } catch (const Error& e) {
        sentences[static_cast<size_t>(r)] = e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return sentences;
}

/// Many operations in which every rank adds to a counter before END and reads it after: all additions must be there.
void expect_order(int ranks, uint32_t first_epoch, int operations) {
  std::atomic<int64_t> sum{0};
  std::atomic<int> wrong{0};
  const auto sentences = on_ranks(ranks, 20, first_epoch, [&](int r, Barrier& barrier) {
    for (int op = 0; op < operations; ++op) {
      if (r == op % ranks && op % 16 == 0) std::this_thread::sleep_for(1ms);
      barrier.start(static_cast<uint32_t>(op), kSite);
      sum.fetch_add(1, std::memory_order_relaxed);
      barrier.end(kSite);
      if (sum.load(std::memory_order_relaxed) < int64_t{ranks} * (op + 1)) ++wrong;
    }
  });
  for (const std::string& s : sentences) EXPECT_EQ(s, "");
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(sum.load(), int64_t{ranks} * operations);
}

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  for (const int ranks : {2, 3, 8}) expect_order(ranks, 0, 200);
}

TEST(Barrier, SurvivesTheWrapAroundOfItsEpoch) {
  expect_order(3, 0xffffffffu - 20, 60);
  expect_order(3, 0x7fffffffu - 20, 60);
}

TEST(Barrier, ADelayBelowTheTimeoutChangesNothing) {
  const auto sentences = on_ranks(4, 5, 0, [](int r, Barrier& barrier) {
    for (uint32_t op = 0; op < 4; ++op) {
      if (r == 2) std::this_thread::sleep_for(100ms);
      barrier.start(op, kSite);
      barrier.end(kSite);
    }
  });
  for (const std::string& s : sentences) EXPECT_EQ(s, "");
}

TEST(Barrier, ARankThatNeverComesIsNamedByAllOthersInTime) {
  const auto begin = std::chrono::steady_clock::now();
  const auto sentences = on_ranks(4, 0.3, 6, [](int r, Barrier& barrier) {
    barrier.start(5, kSite);
    if (r != 2) barrier.end(kSite);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(sentences[2], "");
  for (const int r : {0, 1, 3}) {
    const std::string& s = sentences[static_cast<size_t>(r)];
    for (const char* part : {"int8 all-reduce at layer 3, ffn", "waits for rank 2: not come to its end",
                             "epoch 7 expected, 6 seen", "within 0.3 s"}) {
      EXPECT_NE(s.find(part), s.npos) << part << " in: " << s;
    }
    EXPECT_NE(s.find("(rank " + std::to_string(r) + ", channel 0"), s.npos) << s;
  }
}

TEST(Barrier, OneThatGivesUpReleasesThoseWithALongTimeout) {
  const Words words(2);
  std::string sentence;
  std::thread patient([&] {
    Barrier barrier(words.all(), 0, Barrier::Seconds(60));
    try {
      barrier.start(1, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kWatchdog);
      sentence = e.what();
    }
  });
  words.own[0]->gave_up.value = 2;
  patient.join();
  EXPECT_NE(sentence.find("rank 1"), sentence.npos) << sentence;
}

TEST(Barrier, OperationsOfDifferentSizesEndOnEveryRank) {
  const auto sentences = on_ranks(4, 5, 0, [](int r, Barrier& barrier) {
    barrier.start(r == 3 ? 12 : 10, kSite);
    barrier.end(kSite);
  });
  for (const std::string& s : sentences) {
    EXPECT_NE(s.find("12"), s.npos) << s;
    EXPECT_NE(s.find("10"), s.npos) << s;
    EXPECT_NE(s.find("layer 3, ffn"), s.npos) << s;
  }
}

/// Why epochs are compared as monotonic: a peer that has gone one operation ahead still counts as arrived. A test for
/// equality, played here on the same words, waits for a value that never comes back.
TEST(BarrierNegativeControl, AnEqualityTestMissesAPeerThatIsAhead) {
  const Words words(2);
  for (int c = 0; c < kChannels; ++c) {
    words.own[0]->arrived[0][c][1].value = 2;  // rank 1 is in its second operation already
  }
  Barrier barrier(words.all(), 0, Barrier::Seconds(0.2));
  words.own[0]->announced[1].value = 9;
  EXPECT_NO_THROW(barrier.start(9, {}));
  EXPECT_NE(words.own[0]->arrived[0][0][1].value.load(), 1u) << "an equality test would wait for epoch 1";
}

}  // namespace
}  // namespace octet::comm
