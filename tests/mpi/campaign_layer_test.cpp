// The layers with the campaign's flags on 1, 2, 4 or 8 ranks: which form of a sum a step takes, that each sub-layer is
// summed exactly once in it, and that codes reach every post together with their scales.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/block.h"
#include "tests/mpi/layer_case.h"
#include "tests/support/random.h"
#include "tests/support/steps.h"

namespace octet::test {
namespace {

constexpr Site kSite{1, Site::Kind::kFfn};

bool several() {
  return session().size() > 1;
}

/// A sum's buffers in both forms, poisoned.
template <class Act>
struct Target {
  Array<Act, 2> rows;
  Array<int8_t, 2> q;
  Array<bf16, 2> scale;
  Target(int64_t T, int64_t D) : rows(T, D), q(T, D), scale(T, D / int8::kBlock) {}
  ReductionTarget<Act> view() { return {rows.view(), {q.view(), scale.view()}}; }
};

/// Shares of every rank, the same on all; a block's size differs from rank to rank by up to 2^6.
std::vector<Array<float, 2>> random_shares(Random& random, int64_t T, int64_t D) {
  std::vector<Array<float, 2>> shares;
  for (int r = 0; r < session().size(); ++r) {
    shares.emplace_back(T, D);
    random.fill_normal(shares.back(), std::ldexp(1.0, static_cast<int>(random.integer(0, 6))));
  }
  return shares;
}

/// The sum by its definition, without a communicator: decoded shares added in double, coded again.
std::vector<float> defined_int8_sum(const std::vector<Array<float, 2>>& shares) {
  const int64_t n = shares[0].size();
  std::vector<float> decoded(static_cast<size_t>(n));
  for (int64_t b = 0; b < n; b += int8::kBlock) {
    double sum[int8::kBlock] = {};
    int8_t q[int8::kBlock];
    for (const Array<float, 2>& share : shares) {
      const bf16 scale = int8::encode(q, share.begin() + b);
      for (int64_t i = 0; i < int8::kBlock; ++i) {
        sum[i] += static_cast<double>(q[i]) * static_cast<double>(static_cast<float>(scale));
      }
    }
    const bf16 scale = int8::encode_sum(q, sum);
    int8::decode(decoded.data() + b, q, scale);
  }
  return decoded;
}

template <class Act>
void expect_one_reduction(const CampaignOptions& campaign, int64_t T, int64_t D, bool want_int8) {
  Random random(static_cast<uint64_t>(T * 1000 + D));
  RankContext rank;
  rank.ctx.campaign = campaign;
  const std::vector<Array<float, 2>> shares = random_shares(random, T, D);
  Array<float, 2> own = shares[static_cast<size_t>(session().rank())];
  Target<Act> out(T, D);
  const Reduced<Act> sum = reduce(rank.ctx, Partial(own), out.view(), kSite);

  EXPECT_EQ(sum.is_int8(), want_int8) << T << " tokens";
  EXPECT_EQ(rank.comm.reductions_at(kSite), 1);
  EXPECT_EQ(rank.comm.reductions(), 1);
  EXPECT_EQ(rank.ctx.counts.sums, 1);
  EXPECT_EQ(rank.ctx.counts.int8_sums, want_int8 ? 1 : 0);
  if (!want_int8) {
    sum.visit([&](const auto& x) {
      if constexpr (!std::is_same_v<std::decay_t<decltype(x)>, int8::Rows>) {
        EXPECT_EQ(x.data, out.rows.begin());
      }
    });
    return;
  }
  Array<float, 2> got(T, D);
  sum.visit([&](const auto& x) {  // the very codes and scales of the transport
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, int8::Rows>) {
      EXPECT_EQ(x.q.data, out.q.begin());
      EXPECT_EQ(x.scale.data, out.scale.begin());
      ops::dequantise_int8(rank.ctx, got, x);
    }
  });
  const std::vector<float> want = defined_int8_sum(shares);
  EXPECT_TRUE(std::equal(want.begin(), want.end(), got.begin())) << T << " x " << D;
  EXPECT_TRUE(same_on_all_ranks(hash_of_array(got)));
}

TEST(HoistedAllReduceReaddsTheSuppressedCollective, InTheFormOfTheTokenCount) {
  constexpr int64_t kThreshold = 6;
  const CampaignOptions on{.ar_int8 = true, .ar_int8_min_tokens = kThreshold};
  for (const int64_t T : {kThreshold - 1, kThreshold, kThreshold + 1}) {
    for (const int64_t D : {32, 96, 224}) {  // blocks that no number of ranks divides, and fewer blocks than ranks
      expect_one_reduction<bf16>(on, T, D, several() && T >= kThreshold);
      expect_one_reduction<float>(on, T, D, several() && T >= kThreshold);
      expect_one_reduction<bf16>({}, T, D, false);
    }
  }
  expect_one_reduction<bf16>({.ar_int8 = true, .ar_int8_min_tokens = 1}, 1, 32, several());
}

/// What a layer leaves behind.
template <class Act>
struct Layer {
  Array<Act, 3> h;
  CampaignCounts counts = {};
  int64_t attn_reductions = 0, ffn_reductions = 0;
  bool codes_are_the_streams = false;
};

/// A layer on random streams with its last sum still pending, then the stand-alone post that consumes it.
template <class Act>
Layer<Act> run_layer(Numerics numerics, const CampaignOptions& campaign, int64_t l, int64_t T) {
  const SharedModel& model = shared_model();
  Random random(static_cast<uint64_t>(l));
  KvCache cache(model.config,
                {ops::kv_row_bytes<Act>(model.config.head_dim, model.config.qk_rope_head_dim),
                 ops::index_row_bytes<Act>(model.config.index_head_dim)},
                3, 2);
  std::vector<std::byte> memory(static_cast<size_t>(cache.bytes()), std::byte{0xff});
  cache.bind(memory.data());
  const Places places(random, 1, 1);
  const Step step(places, {{0, 0, T}});
  RankContext rank(numerics);
  rank.ctx.campaign = campaign;
  auto h = make_streams<cpu::Context, Act>(rank.ctx, T, model.config);
  Array<Act, 3> start(T, model.config.hc_mult, model.config.hidden_size);
  random.fill_normal(start, 2);
  std::copy(start.begin(), start.end(), h.h.begin());
  // A sum is pending on entry, as behind another layer, so that the first post of the layer has one to take.
  Array<float, 2> share(T, model.config.hidden_size), post_gates(T, 4);
  Array<float, 3> comb(T, 4, 4);
  random.fill_normal(share);
  for (float& v : post_gates) v = static_cast<float>(random.uniform(0, 2));
  for (float& v : comb) v = static_cast<float>(random.uniform(0, 0.5));
  Carry<Act> carry{reduce(rank.ctx, Partial(share), h.reduced, {l - 1, Site::Kind::kFfn}), post_gates, comb};

  Array<int32_t, 1> tokens(T);
  for (int64_t t = 0; t < T; ++t) tokens(t) = static_cast<int32_t>(random.integer(0, model.config.vocab_size - 1));
  Segments batch = step.view();
  batch.tokens = tokens;
  carry = block(rank.ctx, h, std::move(carry), model.weights.layers[static_cast<size_t>(l)], model.config, batch,
                cache.layer(l), l);
  Layer<Act> result{.h = start};
  result.codes_are_the_streams = carry.x->visit([&](const auto& x) {
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, int8::Rows>) {
      return x.q.data == h.reduced.codes.q.data && x.scale.data == h.reduced.codes.scale.data;
    } else {
      return false;
    }
  });
  post(rank.ctx, h, std::move(carry));
  std::copy(h.h.begin(), h.h.end(), result.h.begin());
  result.counts = rank.ctx.counts;
  result.attn_reductions = rank.comm.reductions_at({l, Site::Kind::kAttn});
  result.ffn_reductions = rank.comm.reductions_at({l, Site::Kind::kFfn});
  return result;
}

const CampaignOptions kInt8{.ar_int8 = true, .ar_int8_min_tokens = 1};
const CampaignOptions kFused{.mhc_post_sqrsum = true, .mhc_prenorm_shard = true, .mhc_prenorm_shard_min_tokens = 1};

template <class Act>
double distance(const Array<Act, 3>& a, const Array<Act, 3>& b) {
  double off = 0, size = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    off += std::pow(as_double(a.begin()[i]) - as_double(b.begin()[i]), 2);
    size += std::pow(as_double(b.begin()[i]), 2);
  }
  return std::sqrt(off / size);
}

/// Three posts meet three sums: the pending one, attention's and the mixture's. A post that read codes without their
/// scales, or with those of another sum, would be off by orders of magnitude; a faithful one is off by the noise of
/// int8.
TEST(DecoderCarriesInt8ScalesToEachMhcPost, InEveryKindOfLayerAndNumerics) {
  for (const int64_t l : {1, 2, 3}) {
    for (const int64_t T : {2, 19}) {
      const auto plain = run_layer<float>(Numerics::kExact, {}, l, T);
      const auto int8 = run_layer<float>(Numerics::kExact, kInt8, l, T);
      EXPECT_EQ(int8.attn_reductions, 1);
      EXPECT_EQ(int8.ffn_reductions, 1);
      EXPECT_EQ(int8.counts.sums, 3);
      EXPECT_EQ(int8.counts.int8_sums, several() ? 3 : 0);
      EXPECT_EQ(int8.codes_are_the_streams, several());
      EXPECT_LE(distance(int8.h, plain.h), several() ? 2e-2 : 0) << "layer " << l;
      if (several()) {
        EXPECT_GT(distance(int8.h, plain.h), 1e-4);
      }
      EXPECT_TRUE(same_on_all_ranks(hash_of_array(int8.h)));
    }
  }
}

TEST(FusedPaths, GiveThePlainBitsOnAnyRaggedStep) {
  for (const int64_t T : {1, 5, 7, 19, 64}) {
    const auto plain = run_layer<bf16>(Numerics::kOfficial, {}, 2, T);
    const auto fused = run_layer<bf16>(Numerics::kOfficial, kFused, 2, T);
    EXPECT_TRUE(same_bits(plain.h, fused.h)) << T << " tokens";
    EXPECT_EQ(fused.counts.folded_posts, 2);
    EXPECT_EQ(fused.counts.shared_mixes, several() ? 2 : 0);
    EXPECT_EQ(plain.counts.folded_posts, 0);
    const CampaignOptions all{.ar_int8 = true,
                              .ar_int8_min_tokens = 1,
                              .mhc_post_sqrsum = true,
                              .mhc_prenorm_shard = true,
                              .mhc_prenorm_shard_min_tokens = 1};
    EXPECT_TRUE(same_bits(run_layer<bf16>(Numerics::kOfficial, all, 2, T).h,
                          run_layer<bf16>(Numerics::kOfficial, kInt8, 2, T).h));
  }
}

}  // namespace
}  // namespace octet::test
