// The indexer's selection (kernels/indexer.h), row by row and id by id. Queries and keys are on the e2m1 grid (bf16) or
// small integers (float), so dot products are exact and the prescribed roundings decide every score.
#include "kernels/indexer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "kernels/cpu/context.h"
#include "kernels/quant.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"
#include "tests/support/steps.h"

namespace octet::test {
namespace {

template <class Act>
class Indexer : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Indexer, Activations);

constexpr int64_t kHeads = 3;
constexpr int64_t kDim = 64;
constexpr int64_t kRatio = 4;
constexpr int64_t kPageRows = 3;

template <class Act>
struct Inputs {
  std::vector<int64_t> lengths;
  std::vector<Array<std::byte, 3>> q;     // [length, heads, row bytes]
  std::vector<Array<Act, 2>> w;           // [length, heads]
  std::vector<Array<std::byte, 2>> keys;  // [length / ratio, row bytes]
};

template <class Act>
Array<std::byte, 2> packed(Random& random, int64_t rows) {
  cpu::Context ctx;
  Array<Act, 2> x(rows, kDim);
  random.fill_integers(x, -4, 4, 0.5);
  Array<std::byte, 2> bytes(rows, ops::index_row_bytes<Act>(kDim));
  ops::pack_index<Act>(ctx, bytes, x);
  return bytes;
}

template <class Act>
Inputs<Act> inputs(Random& random, const std::vector<int64_t>& lengths) {
  Inputs<Act> in{lengths, {}, {}, {}};
  for (const int64_t length : lengths) {
    const Array<std::byte, 2> rows = packed<Act>(random, length * kHeads);
    in.q.emplace_back(length, kHeads, rows.dim(1));
    std::copy(rows.begin(), rows.end(), in.q.back().begin());
    in.keys.push_back(packed<Act>(random, length / kRatio));
    in.w.emplace_back(length, kHeads);
    random.fill_normal(in.w.back());
  }
  return in;
}

// The chosen rows of every query, produced step by step; a page holds only the rows complete at the end of the step.
template <class Act>
std::vector<Array<int32_t, 2>> select(const Inputs<Act>& in, const Places& places, const Schedule& steps, int64_t K) {
  cpu::Context ctx;
  std::vector<Array<int32_t, 2>> result;
  for (const int64_t length : in.lengths) result.emplace_back(length, K);
  Array<std::byte, 3> memory = places.make_pages(kPageRows, in.keys[0].dim(1));
  for (const std::vector<Piece>& pieces : steps) {
    for (const Piece& p : pieces) {
      for (int64_t j = p.position / kRatio; j < (p.position + p.count) / kRatio; ++j) {
        std::memcpy(paged_row(memory, places, p.sequence, j), &in.keys[p.sequence](j, 0),
                    static_cast<size_t>(memory.dim(2)));
      }
    }
    const Step step(places, pieces);
    Array<int32_t, 2> selected(step.size(), K);
    ops::select_rows<Act>(ctx, selected, gather(in.q, pieces), pages_of(memory), gather(in.w, pieces), step.view(),
                          kRatio, kDim);
    scatter(result, selected, pieces);
  }
  return result;
}

enum class Form { kReference, kOneTokenEarly, kTiesToHigher, kNoRelu, kUnroundedScores, kOneTokenLate };

template <class Act>
Array<double, 2> unpacked(const std::byte* rows, int64_t count) {
  Array<double, 2> x(count, kDim);
  std::vector<float> row(kDim);
  for (int64_t r = 0; r < count; ++r) {
    ops::unpack_index_row<Act>(row.data(), rows + r * ops::index_row_bytes<Act>(kDim), kDim);
    std::copy(row.begin(), row.end(), &x(r, 0));
  }
  return x;
}

template <class Act>
double score(const Array<double, 2>& q, const Array<double, 2>& keys, int64_t j, const Array<Act, 2>& w, int64_t t,
             Form form) {
  const auto act = [&](double v) { return form == Form::kUnroundedScores ? v : rounded<Act>(v); };
  float sum = 0;
  for (int64_t h = 0; h < kHeads; ++h) {
    double dot = 0;
    for (int64_t c = 0; c < kDim; ++c) dot += q(h, c) * keys(j, c);
    const double positive = form == Form::kNoRelu ? act(dot) : std::max(act(dot), 0.0);
    sum += static_cast<float>(act(positive * as_double(w(t, h))));
  }
  return act(as_double(sum));
}

int64_t candidates(int64_t p, Form form) {
  if (form == Form::kOneTokenEarly) return (p + 2) / kRatio;
  if (form == Form::kOneTokenLate) return p / kRatio;  // j < p / ratio
  return (p + 1) / kRatio;
}

template <class Act>
Array<int32_t, 2> defined_select(const Inputs<Act>& in, size_t s, int64_t K, Form form = Form::kReference) {
  Array<int32_t, 2> selected(in.lengths[s], K);
  selected.fill(-1);
  const Array<double, 2> keys = unpacked<Act>(in.keys[s].begin(), in.keys[s].dim(0));
  for (int64_t t = 0; t < in.lengths[s]; ++t) {
    const Array<double, 2> q = unpacked<Act>(&in.q[s](t, 0, 0), kHeads);
    std::vector<int32_t> order(static_cast<size_t>(std::min(candidates(t, form), keys.dim(0))));
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> scores;
    for (const int32_t j : order) scores.push_back(score(q, keys, j, in.w[s], t, form));
    if (form == Form::kTiesToHigher) std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    for (size_t k = 0; k < order.size() && k < static_cast<size_t>(K); ++k) selected(t, k) = order[k];
  }
  return selected;
}

std::vector<int64_t> whole(size_t sequences) {
  return std::vector<int64_t>(sequences, kWhole);
}

TYPED_TEST(Indexer, KeepsTheBestVisibleRowsHighestFirst) {
  Random random(131);
  const Inputs<TypeParam> in = inputs<TypeParam>(random, {1, 3, 4, 9, 101});
  const Places places(random, 5, 9);
  for (const int64_t K : {1, 8, 40}) {  // fewer and more than there are candidates
    const auto got = select(in, places, schedule(in.lengths, whole(5)), K);
    for (size_t s = 0; s < 5; ++s) EXPECT_TRUE(same_bits(got[s], defined_select(in, s, K))) << "K " << K << ", " << s;
  }
}

TYPED_TEST(Indexer, IsTheSameInStepsOfAnySizeAndCompany) {
  Random random(132);
  const Inputs<TypeParam> in = inputs<TypeParam>(random, {5, 43, 70});
  const Places places(random, 3, 6);
  const auto once = select(in, places, schedule(in.lengths, whole(3)), 8);
  for (const std::vector<int64_t>& chunks : {std::vector<int64_t>{1, 1, 1}, {3, 3, 3}, {2, 1, 70}}) {
    const auto got = select(in, places, schedule(in.lengths, chunks), 8);
    for (size_t s = 0; s < 3; ++s) EXPECT_TRUE(same_bits(got[s], once[s])) << s;
  }
  EXPECT_TRUE(same_bits(select(in, places, {{{2, 0, 70}}}, 8)[2], once[2]));
}

TYPED_TEST(Indexer, TakesAStepWithoutTokens) {
  Random random(133);
  const Inputs<TypeParam> in = inputs<TypeParam>(random, {4});
  const Places places(random, 1, 1);
  Array<std::byte, 3> memory = places.make_pages(kPageRows, in.keys[0].dim(1));
  const Step step(places, {});
  Array<int32_t, 2> selected(0, 8);
  cpu::Context ctx;
  ops::select_rows<TypeParam>(ctx, selected, gather(in.q, {}), pages_of(memory), gather(in.w, {}), step.view(), kRatio,
                              kDim);
  EXPECT_EQ(selected.size(), 0);
}

TYPED_TEST(Indexer, RowsOfEqualScoreComeInOrder) {
  Random random(134);
  Inputs<TypeParam> in = inputs<TypeParam>(random, {24});
  in.w[0].fill(TypeParam(0.0f));
  const Places places(random, 1, 2);
  const auto got = select(in, places, {{{0, 0, 24}}}, 4);
  EXPECT_TRUE(same_bits(copy_rows(got[0], 22, 2), matrix_of<int32_t>({{0, 1, 2, 3}, {0, 1, 2, 3}})));
  EXPECT_TRUE(same_bits(copy_rows(got[0], 10, 2), matrix_of<int32_t>({{0, 1, -1, -1}, {0, 1, 2, -1}})));
}

TYPED_TEST(Indexer, HeadWeightsAreScaledInActArithmetic) {
  Random random(135);
  for (const int rows : {5, 1, 0}) {
    Array<TypeParam, 2> w(rows, 7);
    random.fill_normal(w);
    Array<double, 2> want(rows, 7);
    const float scale = 0.0110485435f;
    for (int64_t i = 0; i < w.size(); ++i) want.begin()[i] = as_double(w.begin()[i]) * as_double(scale);
    cpu::Context ctx;
    ops::scale_rows<TypeParam>(ctx, w, scale);
    EXPECT_TRUE(same_rounding(w, want, 0));
  }
}

class IndexerNegativeControl : public testing::TestWithParam<Form> {};

TEST_P(IndexerNegativeControl, IsSeen) {
  Random random(136);
  const Inputs<bf16> in = inputs<bf16>(random, {200});
  const Places places(random, 1, 17);
  EXPECT_FALSE(same_bits(select(in, places, {{{0, 0, 200}}}, 8)[0], defined_select(in, 0, 8, GetParam())));
}

std::string defect_name(const testing::TestParamInfo<Form>& defect) {
  switch (defect.param) {
    case Form::kReference: return "None";
    case Form::kOneTokenEarly: return "RowVisibleOneTokenEarly";
    case Form::kTiesToHigher: return "TiesToTheHigherRow";
    case Form::kNoRelu: return "MissingRelu";
    case Form::kUnroundedScores: return "UnroundedScores";
    case Form::kOneTokenLate: return "RowVisibleOneTokenLate";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Defect, IndexerNegativeControl,
                         testing::Values(Form::kOneTokenEarly, Form::kTiesToHigher, Form::kNoRelu,
                                         Form::kUnroundedScores, Form::kOneTokenLate),
                         defect_name);

}  // namespace
}  // namespace octet::test
