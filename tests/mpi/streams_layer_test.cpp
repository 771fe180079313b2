// The layers around the sub-layers over 1, 2, 4 or 8 ranks against their definitions on one rank: embedding, the border
// between two sub-layers with the reduction before it, and the head.
#include <gtest/gtest.h>

#include "layers/embedding.h"
#include "layers/head.h"
#include "layers/hyper_connection.h"
#include "tests/mpi/defined_layers.h"
#include "tests/mpi/layer_case.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

template <class Act>
class Layers : public testing::Test {
 protected:
  /// exact: fp32 sums of 1024 products. bf16: a value next to a tie may round the other way, which moves it by 2^-8 of
  /// itself: 1 in 50 elements, 3e-3 of a row.
  RowBound bound() const {
    if constexpr (std::is_same_v<Act, float>) return {.worst = 1e-5};
    return {.worst = 3e-3, .touched = 0.7};
  }
};
using Activations = testing::Types<float, bf16>;
TYPED_TEST_SUITE(Layers, Activations);

template <class Act>
Array<Act, 3> random_streams(Random& random, int64_t T) {
  Array<Act, 3> h(T, 4, shared_model().config.hidden_size);
  random.fill_normal(h, 2);
  return h;
}
template <class Act>
Row flat(const Array<Act, 3>& h, int64_t t) {
  const Mat<const Act> streams = h.view()[t];
  return as_row<Act>(Vec<const Act>(streams.data, streams.size()));
}

TYPED_TEST(Layers, EmbeddingIsTheTokensRowInEveryStreamOfEveryRank) {
  RankContext rank;
  const SharedModel& model = shared_model();
  std::vector<int32_t> tokens = {0, 511, 64, 63, 127, 128, 255, 256, 300, 0};  // both ends of the ranks' shares
  auto streams = make_streams<cpu::Context, TypeParam>(rank.ctx, static_cast<int64_t>(tokens.size()), model.config);
  post(rank.ctx, streams, embed(rank.ctx, streams, rank.ctx.upload(tokens), model.weights.embed));
  const Dense table = model.whole.plain("embed.weight");
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t d = 0; d < table.columns; ++d) {
        ASSERT_EQ(as_double(streams.h[static_cast<int64_t>(t)][i][d]), table.at(tokens[t], d));
      }
    }
  }
}

/// What enters and leaves one border.
template <class Act>
struct Border {
  static constexpr int64_t kTokens = 9;
  Array<Act, 3> h;
  std::vector<Array<float, 2>> shares;  // of every rank
  Array<float, 2> post{kTokens, 4};
  Array<float, 3> comb{kTokens, 4, 4};

  explicit Border(Random& random) : h(random_streams<Act>(random, kTokens)) {
    for (int r = 0; r < session().size(); ++r) {
      shares.emplace_back(kTokens, h.dim(2));
      random.fill_normal(shares.back());
    }
    for (float& v : post) v = static_cast<float>(random.uniform(0, 2));
    for (float& v : comb) v = static_cast<float>(random.uniform(0, 0.5));
  }
  /// The definition's sum of the shares at one token: fp32 in rank order, one rounding.
  Row sum(int64_t t) const {
    Row x;
    for (int64_t d = 0; d < h.dim(2); ++d) {
      float total = shares[0](t, d);
      for (size_t r = 1; r < shares.size(); ++r) total += shares[r](t, d);
      x.push_back(rounded<Act>(as_double(total)));
    }
    return x;
  }
};

TYPED_TEST(Layers, BorderFoldsTheReducedSumAndMixesTheNextInput) {
  Random random(331);
  RankContext rank;
  const SharedModel& model = shared_model();
  Border<TypeParam> in(random);
  constexpr int64_t T = Border<TypeParam>::kTokens;
  auto streams = make_streams<cpu::Context, TypeParam>(rank.ctx, T, model.config);
  std::copy(in.h.begin(), in.h.end(), streams.h.begin());
  const BlockWeights& w = model.weights.layers[1];
  Array<float, 2> share = in.shares[static_cast<size_t>(session().rank())];
  Carry<TypeParam> carry{reduce(rank.ctx, Partial(share), streams.reduced, {1, Site::Kind::kAttn}), in.post, in.comb};
  const SubLayerInput<TypeParam> next =
      post_pre(rank.ctx, streams, std::move(carry), w.hc_ffn, w.ffn_norm, model.config, {1, Site::Kind::kFfn});

  const MixingWeights mixing(model.whole, "layers.1.hc_ffn");
  const Row norm = model.whole.vector("layers.1.ffn_norm.weight");
  Array<TypeParam, 2> h(T, 4 * in.h.dim(2)), u(T, in.h.dim(2));
  Array<float, 2> post(T, 4), comb(T, 16);
  std::copy(streams.h.begin(), streams.h.end(), h.begin());
  std::copy(next.u.begin(), next.u.end(), u.begin());
  std::copy(next.post.begin(), next.post.end(), post.begin());
  std::copy(next.comb.begin(), next.comb.end(), comb.begin());
  std::vector<Row> want_h, want_u, want_post, want_comb;
  for (int64_t t = 0; t < T; ++t) {
    const Row folded =
        defined_post<TypeParam>(flat(in.h, t), in.sum(t), as_row<float>(in.post.view()[t]), flat(in.comb, t));
    const DefinedBorder border = defined_pre<TypeParam>(as_row<TypeParam>(h.view()[t]), mixing, norm, model.config);
    want_h.push_back(folded);
    want_u.push_back(border.u);
    want_post.push_back(border.post);
    want_comb.push_back(border.comb);
  }
  EXPECT_TRUE(rows_agree(h, want_h, this->bound()));
  EXPECT_TRUE(rows_agree(u, want_u, this->bound()));
  EXPECT_TRUE(rows_agree(post, want_post, {.worst = 1e-5}));
  EXPECT_TRUE(rows_agree(comb, want_comb, {.worst = 1e-5}));
  EXPECT_TRUE(same_on_all_ranks({hash_of_array(h), hash_of_array(u), hash_of_array(post), hash_of_array(comb)}));
  if (session().size() > 1) {  // negative control: the share of one rank in place of the sum
    in.shares.erase(in.shares.begin() + 1, in.shares.end());
    want_h.clear();
    for (int64_t t = 0; t < T; ++t) {
      want_h.push_back(
          defined_post<TypeParam>(flat(in.h, t), in.sum(t), as_row<float>(in.post.view()[t]), flat(in.comb, t)));
    }
    EXPECT_FALSE(rows_agree(h, want_h, this->bound()));
  }
}

TYPED_TEST(Layers, HeadGivesRank0TheLogitsOfTheWholeVocabulary) {
  Random random(332);
  RankContext rank;
  const SharedModel& model = shared_model();
  const Array<TypeParam, 3> h = random_streams<TypeParam>(random, 12);
  const std::vector<int64_t> rows = {11, 0, 5, 5, 7, 1, 2};
  const auto S = static_cast<int64_t>(rows.size());
  Array<float, 2> logits(is_root() ? S : 0, model.config.vocab_size);
  head<cpu::Context, TypeParam>(rank.ctx, logits, h, rank.ctx.upload(rows), model.weights, model.config);
  if (!is_root()) return;
  std::vector<Row> want;
  for (const int64_t row : rows) want.push_back(defined_head<TypeParam>(flat(h, row), model.whole));
  const RowBound bound{.worst = std::is_same_v<TypeParam, float> ? 1e-5 : 3e-3};
  EXPECT_TRUE(rows_agree(logits, want, bound));
  std::swap(want[0], want[1]);
  EXPECT_FALSE(rows_agree(logits, want, bound)) << "rows in another order";
}

TYPED_TEST(Layers, HeadOfNoRowsIsEmpty) {
  Random random(333);
  RankContext rank;
  const SharedModel& model = shared_model();
  const Array<TypeParam, 3> h = random_streams<TypeParam>(random, 1);
  Array<float, 2> logits(0, model.config.vocab_size);
  head<cpu::Context, TypeParam>(rank.ctx, logits, h, rank.ctx.upload(std::vector<int64_t>{}), model.weights,
                                model.config);
}

}  // namespace
}  // namespace octet::test
