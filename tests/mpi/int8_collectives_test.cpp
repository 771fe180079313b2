// The int8 all-reduce on 1, 2, 4 or 8 ranks: peer memory against messages byte for byte, both against the definition,
// its error bound and its noise, and operations that the ranks do not agree on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "comm/mpi_int8.h"
#include "comm/peer_memory.h"
#include "comm/share.h"
#include "kernels/int8_codec.h"
#include "kernels/quant.h"
#include "tests/mpi/ranks.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

constexpr int64_t kMostBlocks = 4096;

/// A rank's context whose communicator has peer memory.
struct PeerContext : RankContext {
  explicit PeerContext(double timeout = 20) { mapped = comm.map_peer_memory(kMostBlocks, timeout); }
  bool mapped = false;
};

enum class Data { kGaussian, kWideScales, kZeros, kDenormals, kOneNaN, kOneInfinity, kCancelling };
constexpr Data kAllData[] = {Data::kGaussian, Data::kWideScales,  Data::kZeros,     Data::kDenormals,
                             Data::kOneNaN,   Data::kOneInfinity, Data::kCancelling};

/// Shares of every rank, the same on all. Blocks of a rank differ in size by up to 2^12 from those of another.
std::vector<Array<float, 2>> shares_of(Random& random, Data data, int64_t T, int64_t D) {
  std::vector<Array<float, 2>> shares;
  for (int r = 0; r < session().size(); ++r) {
    Array<float, 2>& x = shares.emplace_back(T, D);
    for (int64_t i = 0; i < x.size(); i += int8::kBlock) {
      const double wide = std::ldexp(1.0, static_cast<int>(random.integer(0, 12)));
      const bool zero = random.integer(0, 2) == 0;
      for (int64_t k = i; k < i + int8::kBlock; ++k) {
        double v = random.normal();
        if (data == Data::kWideScales) v *= wide;
        if (data == Data::kZeros && zero) v = 0;
        if (data == Data::kDenormals) v *= 0x1p-130;
        if (data == Data::kCancelling) v += r % 2 == 0 ? 30 : -30;
        x.begin()[k] = static_cast<float>(v);
      }
    }
  }
  Array<float, 2>& chosen = shares[static_cast<size_t>(random.integer(0, session().size() - 1))];
  float& value = chosen.begin()[random.integer(0, chosen.size() - 1)];
  if (data == Data::kOneNaN) value = NAN;
  if (data == Data::kOneInfinity) value = -INFINITY;
  return shares;
}

struct Sum {
  Array<int8_t, 2> q;
  Array<bf16, 2> scale;
  Sum(int64_t T, int64_t D) : q(T, D), scale(T, D / int8::kBlock) {}
  int8::Rows rows() { return {q.view(), scale.view()}; }
  bool operator==(const Sum& other) const { return same_bits(q, other.q) && same_bits(scale, other.scale); }
};

Sum sum_with(cpu::Context& ctx, const Array<float, 2>& share) {
  Sum sum(share.dim(0), share.dim(1));
  comm::all_reduce_int8(ctx, sum.rows(), Mat<const float>(share.begin(), share.dim(0), share.dim(1)));
  return sum;
}

/// The definition without a communicator.
Sum defined_sum(const std::vector<Array<float, 2>>& shares) {
  Sum result(shares[0].dim(0), shares[0].dim(1));
  for (int64_t b = 0; b < result.scale.size(); ++b) {
    double sum[int8::kBlock] = {};
    for (const Array<float, 2>& share : shares) {
      int8_t q[int8::kBlock];
      const bf16 scale = int8::encode(q, share.begin() + b * int8::kBlock);
      int8::add_decoded(sum, q, scale);
    }
    result.scale.begin()[b] = int8::encode_sum(result.q.begin() + b * int8::kBlock, sum);
  }
  return result;
}

int tensors_of(Data data) {
  const char* lane = std::getenv("OCTET_TEST_LONG");
  const bool is_long = lane != nullptr && std::string(lane) == "1";
  return (is_long ? 1500 : 60) - (data == Data::kZeros ? 10 : 0);  // 10,490 in the long lane
}

TEST(Int8AllReduce, PeerMemoryAndMessagesGiveTheSameBytesOnEveryRank) {
  Random random(21);
  PeerContext peers;
  RankContext messages;
  EXPECT_EQ(peers.mapped, session().size() > 1);
  std::vector<double> hashes;
  for (const Data data : kAllData) {
    int differ = 0, undefined = 0;
    for (int i = 0; i < tensors_of(data); ++i) {
      const int64_t T = random.integer(1, 9), D = int8::kBlock * random.integer(1, 7);
      const auto shares = shares_of(random, data, T, D);
      const Array<float, 2>& own = shares[static_cast<size_t>(session().rank())];
      const Sum through_memory = sum_with(peers.ctx, own), by_messages = sum_with(messages.ctx, own);
      differ += through_memory == by_messages ? 0 : 1;
      if (session().size() > 1) undefined += through_memory == defined_sum(shares) ? 0 : 1;
      hashes.push_back(hash_of_array(through_memory.q) + hash_of_array(through_memory.scale));
    }
    EXPECT_EQ(differ, 0) << "data " << static_cast<int>(data);
    EXPECT_EQ(undefined, 0) << "data " << static_cast<int>(data);
  }
  EXPECT_TRUE(same_on_all_ranks(hashes));
}

TEST(Int8AllReduce, GoesByMessagesWhenSharedMemoryHasNoRoom) {
  RankContext rank;
  EXPECT_FALSE(rank.comm.map_peer_memory(int64_t{1} << 40, 20));  // 34 TiB a rank
  EXPECT_EQ(rank.comm.peers(), nullptr);
  Array<float, 2> share(2, 64);
  for (float& v : share) v = 127;
  Sum sum = sum_with(rank.ctx, share);
  EXPECT_EQ(sum.q(0, 0), 127);
  EXPECT_EQ(static_cast<float>(sum.scale(0, 0)), static_cast<float>(session().size()));
}

TEST(Int8AllReduce, ARowDoesNotDependOnTheOthers) {
  Random random(22);
  PeerContext peers;
  const auto shares = shares_of(random, Data::kWideScales, 33, 160);
  const Array<float, 2>& own = shares[static_cast<size_t>(session().rank())];
  const Sum whole = sum_with(peers.ctx, own);
  for (const int64_t T : {1, 2, 7, 32}) {
    Array<float, 2> part(T, 160);
    std::copy_n(own.begin() + 160, part.size(), part.begin());  // from row 1 on: other owners, other offsets
    const Sum sum = sum_with(peers.ctx, part);
    for (int64_t i = 0; i < sum.q.size(); ++i) EXPECT_EQ(sum.q.begin()[i], whole.q.begin()[160 + i]);
    for (int64_t i = 0; i < sum.scale.size(); ++i)
      EXPECT_EQ(sum.scale.begin()[i].bits, whole.scale.begin()[5 + i].bits);
  }
}

/// Largest |got - exact| of a block against eps A (kappa + 1 + eps kappa), kappa = sum of the ranks' maxima / A.
TEST(Int8AllReduce, StaysWithinItsErrorBound) {
  if (session().size() == 1) GTEST_SKIP() << "one rank codes once";
  Random random(23);
  PeerContext peers;
  const double eps = (1 + 0x1p-8) / 254 * 1.0001;
  double off = 0, size = 0;
  for (const Data data : {Data::kGaussian, Data::kWideScales, Data::kCancelling}) {
    const auto shares = shares_of(random, data, 64, 512);
    Sum sum = sum_with(peers.ctx, shares[static_cast<size_t>(session().rank())]);
    Array<float, 2> got(64, 512);
    ops::dequantise_int8(peers.ctx, got, sum.rows());
    for (int64_t b = 0; b < got.size(); b += int8::kBlock) {
      double total = 0, A = 0, worst = 0;
      for (const auto& share : shares) {
        double a = 0;
        for (int64_t k = b; k < b + int8::kBlock; ++k) a = std::max(a, std::fabs(as_double(share.begin()[k])));
        total += a;
      }
      for (int64_t k = b; k < b + int8::kBlock; ++k) {
        double exact = 0;
        for (const auto& share : shares) exact += as_double(share.begin()[k]);
        A = std::max(A, std::fabs(exact));
        worst = std::max(worst, std::fabs(as_double(got.begin()[k]) - exact));
        if (data != Data::kGaussian) continue;
        off += std::pow(as_double(got.begin()[k]) - exact, 2);
        size += exact * exact;
      }
      EXPECT_LE(worst, eps * (total + A + eps * total)) << "block " << b;
    }
  }
  const double noise = std::sqrt(off / size);  // 7.6e-3 expected, of any number of ranks
  EXPECT_NEAR(noise, 7.62e-3, 2e-4);
}

TEST(Int8AllReduceNegativeControl, RotatedFp32SumsDifferOnWideScales) {
  if (session().size() < 4) GTEST_SKIP() << "two addends have one order";
  Random random(24);
  int64_t differ = 0;
  for (int i = 0; i < 40; ++i) {
    const auto shares = shares_of(random, Data::kWideScales, 4, 256);
    for (int64_t k = 0; k < shares[0].size(); ++k) {
      const auto sum_from = [&](size_t first) {
        float sum = 0;
        for (size_t r = 0; r < shares.size(); ++r) sum += shares[(first + r) % shares.size()].begin()[k];
        return sum;
      };
      differ += sum_from(0) != sum_from(shares.size() / 2) ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 0);
}

TEST(Int8AllReduce, RanksWithAnotherTokenCountEndWithNineEverywhere) {
  if (session().size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  PeerContext peers;
  const bool odd = session().rank() == session().size() - 1;
  Array<float, 2> share(odd ? 3 : 2, 64);
  for (float& v : share) v = 1;
  try {
    sum_with(peers.ctx, share);
    ADD_FAILURE() << "no error on rank " << session().rank();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kSelfCheck);
    EXPECT_NE(std::string(e.what()).find("the ranks do not run the same step"), std::string::npos) << e.what();
  }
}

TEST(Int8AllReduce, ARankThatStaysAwayEndsTheOthersInTimeAndADelayDoesNot) {
  if (session().size() == 1) GTEST_SKIP() << "nobody to wait for";
  PeerContext patient(20), strict(0.4);
  Array<float, 2> share(2, 64);
  for (float& v : share) v = 1;
  const bool late = session().rank() == 1;
  if (late) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_NO_THROW(sum_with(patient.ctx, share));
  const auto begin = std::chrono::steady_clock::now();
  if (!late) {
    try {
      sum_with(strict.ctx, share);
      ADD_FAILURE() << "no error on rank " << session().rank();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kWatchdog);
      EXPECT_NE(std::string(e.what()).find("int8 all-reduce"), std::string::npos) << e.what();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

/// The sentence of the error that every rank must get, before any of them waits.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInternal);
    return e.what();
  }
  return "";
}

TEST(Int8AllReduce, RefusesWhatItsBuffersDoNotHold) {
  PeerContext peers;
  Array<float, 2> share(kMostBlocks / 2 + 1, 64);
  for (float& v : share) v = 1;
  const std::string too_large = refusal([&] { sum_with(peers.ctx, share); });
  if (session().size() > 1) {
    EXPECT_EQ(too_large, "an int8 sum of 4098 blocks, and exchange memory for 4096");
  }
  Array<float, 2> small(2, 64);
  for (float& v : small) v = 1;
  Sum other(1, 64);
  const Mat<const float> payload(small.begin(), 2, 64);
  EXPECT_EQ(refusal([&] { comm::all_reduce_int8(peers.ctx, other.rows(), payload); }),
            "all_reduce_int8: codes and scales do not match the payload");
  session().barrier();
  EXPECT_EQ(refusal([&] { sum_with(peers.ctx, small); }), "") << "a refusal leaves the ranks in step";
}

TEST(AllGatherRows, GivesEveryRankAllRows) {
  RankContext rank;
  for (const int64_t T : {1, 3, 8, 21}) {
    Array<float, 2> rows(T, 5);
    const comm::Share own = comm::share_of(T, session().size(), session().rank());
    for (int64_t t = own.first; t < own.first + own.count; ++t) {
      for (int64_t i = 0; i < 5; ++i) rows(t, i) = static_cast<float>(100 * t + i);
    }
    comm::all_gather_rows(rank.ctx, rows);
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(rows(t, i), static_cast<float>(100 * t + i));
    }
  }
}

TEST(Share, SumsToAllDiffersByOneAndIsInOrder) {
  for (const int64_t n : {0, 1, 7, 511, 512, 513, 1024, 8191, 8192}) {
    for (const int64_t ranks : {1, 2, 4, 6, 8}) {
      int64_t next = 0;
      for (int64_t r = 0; r < ranks; ++r) {
        const comm::Share share = comm::share_of(n, ranks, r);
        EXPECT_EQ(share.first, next);
        EXPECT_TRUE(share.count == n / ranks || share.count == n / ranks + 1);
        next += share.count;
      }
      EXPECT_EQ(next, n);
    }
  }
}

}  // namespace
}  // namespace octet::test
