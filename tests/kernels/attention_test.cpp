// ops::sparse_attention against its definition, its invariance under the way a sequence is cut into steps, and
// hand-made cases. The definition and the driver are in attention_case.h.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/attention_definition.h"

namespace octet::test {
namespace {

template <class Act>
class Attention : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Attention, Activations);

std::vector<int64_t> whole(size_t sequences) {
  return std::vector<int64_t>(sequences, kWhole);
}

template <class Act>
void expect_definition(uint64_t seed, const AttentionShape& shape, const std::vector<int64_t>& lengths) {
  Random random(seed);
  const AttentionCase<Act> c(random, shape, lengths);
  const Places places(random, lengths.size(), 64);
  const auto got = attend(c, places, schedule(lengths, whole(lengths.size())));
  for (size_t s = 0; s < lengths.size(); ++s) {
    EXPECT_TRUE(agrees(got[s], defined_attention(c, s))) << lengths[s] << " tokens";
  }
}

TYPED_TEST(Attention, OverTheWindowAlone) {
  expect_definition<TypeParam>(141, {.ratio = 0}, {1, 2, 69, 70, 71, 150});
}

TYPED_TEST(Attention, OverTheWindowAndAllVisibleRowsOfRatio4) {
  expect_definition<TypeParam>(142, {.ratio = 4}, {1, 3, 4, 5, 150});
}

TYPED_TEST(Attention, OverTheWindowAndAllVisibleRowsOfRatio128) {
  expect_definition<TypeParam>(143, {.heads = 1, .head_dim = 128, .rope_dim = 64, .window = 128, .ratio = 128},
                               {127, 128, 300});
}

TYPED_TEST(Attention, OverTheWindowAndSelectedRows) {
  expect_definition<TypeParam>(144, {.ratio = 4, .selected = 9}, {1, 4, 33, 150});
}

TYPED_TEST(Attention, OverAWindowOfOneBlockAndManyRows) {
  expect_definition<TypeParam>(145, {.heads = 1, .window = 8, .ratio = 4, .page_rows = 16}, {600});
}

TYPED_TEST(Attention, IsTheSameInStepsOfAnySize) {
  Random random(146);
  for (const AttentionShape& shape :
       {AttentionShape{.ratio = 0}, {.ratio = 4}, {.ratio = 4, .selected = 9}, {.window = 9, .ratio = 4}}) {
    const AttentionCase<TypeParam> c(random, shape, {5, 83, 150});
    const Places places(random, 3, 13);
    const auto once = attend(c, places, schedule(c.lengths, whole(3)));
    for (const std::vector<int64_t>& chunks : {std::vector<int64_t>{1, 1, 1}, {3, 3, 3}, {2, 1, 77}, {5, 71, 4}}) {
      const auto got = attend(c, places, schedule(c.lengths, chunks));
      for (size_t s = 0; s < 3; ++s) {
        EXPECT_TRUE(same_bits(got[s], once[s])) << "window " << shape.window << ", ratio " << shape.ratio;
      }
    }
    EXPECT_TRUE(same_bits(attend(c, places, {{{2, 0, 150}}})[2], once[2])) << "alone in its step";
  }
}

TYPED_TEST(Attention, TakesAStepWithoutTokens) {
  Random random(147);
  const AttentionCase<TypeParam> c(random, {}, {4});
  const Places places(random, 1, 1);
  EXPECT_EQ(attend(c, places, {{}})[0].size(), 4 * c.shape.heads * c.shape.head_dim);
}

// Three keys with scaled logits 1, 2 and 0.5, each with its own value element, and a sink of 1.5. A key may carry any
// logit in one dim and name itself in another.
TEST(Attention, AgreesWithTheUnitVectorOfTheSink) {
  cpu::Context ctx;
  constexpr int64_t kHeadDim = 128;
  Array<float, 2> keys(3, kHeadDim);
  keys.fill(0);
  Array<float, 3> q(3, 1, kHeadDim);
  q.fill(0);
  const float logits[] = {1, 2, 0.5f};
  for (int i = 0; i < 3; ++i) {
    keys(i, 0) = logits[i];
    keys(i, 100 + i) = 1;
    q(i, 0, 0) = std::sqrt(static_cast<float>(kHeadDim));
  }
  Array<std::byte, 2> rows(3, ops::kv_row_bytes<float>(kHeadDim, 64));
  ops::pack_kv<float>(ctx, rows, keys, 64);
  Random random(148);
  const Places places(random, 1, 1);
  const Step step(places, {{0, 0, 3}});
  Array<std::byte, 3> ring = places.make_ring(128, rows.dim(1));
  Array<float, 3> o(3, 1, kHeadDim);
  const Array<float, 1> sink = array_of<float>({1.5f});
  ops::sparse_attention<float>(ctx, o, q, {rows, ring_of(ring), {}, {}, 128, 0, 64}, sink, step.view());
  EXPECT_NEAR(as_double(o(2, 0, 100)), 0.1674051, 2e-7);
  EXPECT_NEAR(as_double(o(2, 0, 101)), 0.4550542, 2e-7);
  EXPECT_NEAR(as_double(o(2, 0, 102)), 0.1015363, 2e-7);
  EXPECT_EQ(o(0, 0, 101), 0);  // a later position
}

struct Line {
  int64_t position;
  int64_t rows4;
  int64_t rows128;
  int64_t window_first;
};
constexpr Line kVisibility[] = {{0, 0, 0, 0},      {2, 0, 0, 0},     {3, 1, 0, 0},    {6, 1, 0, 0},
                                {7, 2, 0, 0},      {126, 31, 0, 0},  {127, 32, 1, 0}, {128, 32, 1, 1},
                                {255, 64, 2, 128}, {256, 64, 2, 129}};

// The reference's table. Zero queries give every visible key the weight 1 / (count + 1): the output names the keys.
TEST(Attention, SeesTheKeysOfTheVisibilityTable) {
  for (const int64_t ratio : {4, 128}) {
    Random random(149);
    AttentionCase<float> c(random, {.heads = 1, .head_dim = 128, .rope_dim = 64, .window = 128, .ratio = ratio}, {257});
    c.q[0].fill(0);
    c.sink.fill(0);
    const Places places(random, 1, 64);
    const auto o = attend(c, places, {{{0, 0, 257}}});
    for (const Line& line : kVisibility) {
      std::vector<double> want(128, 0.0);
      std::vector<float> key(128);
      const auto add = [&](const std::byte* row) {
        ops::unpack_kv_row<float>(key.data(), row, 128, 64);
        for (size_t d = 0; d < 128; ++d) want[d] += as_double(key[d]);
      };
      const int64_t rows = ratio == 4 ? line.rows4 : line.rows128;
      for (int64_t t = line.window_first; t <= line.position; ++t) add(&c.window_rows[0](t, 0));
      for (int64_t j = 0; j < rows; ++j) add(&c.compressed[0](j, 0));
      const auto weights = static_cast<double>(line.position - line.window_first + 1 + rows + 1);
      for (size_t d = 0; d < 128; ++d) {
        EXPECT_NEAR(as_double(o[0](line.position, 0, d)), want[d] / weights, 1e-6) << line.position << " " << ratio;
      }
    }
  }
}

class AttentionNegativeControl : public testing::TestWithParam<AttentionForm> {};

TEST_P(AttentionNegativeControl, IsSeen) {
  Random random(150);
  const AttentionCase<bf16> c(random, {.ratio = 4}, {150});
  const Places places(random, 1, 13);
  EXPECT_FALSE(agrees(attend(c, places, {{{0, 0, 150}}})[0], defined_attention(c, 0, GetParam())));
}

std::string defect_name(const testing::TestParamInfo<AttentionForm>& defect) {
  switch (defect.param) {
    case AttentionForm::kReference: return "None";
    case AttentionForm::kRowOneTokenEarly: return "RowVisibleOneTokenEarly";
    case AttentionForm::kRowOneTokenLate: return "RowVisibleOneTokenLate";
    case AttentionForm::kWindowOneLonger: return "WindowOneLonger";
    case AttentionForm::kNoSink: return "MissingSink";
    case AttentionForm::kScaledSink: return "ScaledSink";
    case AttentionForm::kUnscaledLogits: return "UnscaledLogits";
    case AttentionForm::kUnroundedWeights: return "WeightsNotRounded";
    case AttentionForm::kRoundedDenominator: return "DenominatorOfRoundedWeights";
    case AttentionForm::kBlocksOf32: return "BlocksOf32";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Defect, AttentionNegativeControl,
                         testing::Values(AttentionForm::kRowOneTokenEarly, AttentionForm::kRowOneTokenLate,
                                         AttentionForm::kWindowOneLonger, AttentionForm::kNoSink,
                                         AttentionForm::kScaledSink, AttentionForm::kUnscaledLogits,
                                         AttentionForm::kUnroundedWeights, AttentionForm::kRoundedDenominator,
                                         AttentionForm::kBlocksOf32),
                         defect_name);

}  // namespace
}  // namespace octet::test
