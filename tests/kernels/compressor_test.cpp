// Compressed rows (kernels/compressor.h): the position term, gated pooling in steps of any size, with rows of earlier
// steps in a ring just long enough. Appending and the ring's writer: compressor_rows_test.cpp.
#include "kernels/compressor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/context.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"
#include "tests/support/steps.h"

namespace octet::test {
namespace {

template <class Act>
class Compressor : public testing::Test {};
using Activations = testing::Types<bf16, float>;
TYPED_TEST_SUITE(Compressor, Activations);

constexpr int64_t kDim = 5;
// A softmax average of numbers below 5, weights from fp32 exp with scores below 16.
constexpr Bound kFp32{.absolute = 1e-5};

// Values and scores of some sequences; ratio 4 pools overlapping halves of 2 * kDim channels.
struct Inputs {
  int64_t ratio;
  std::vector<int64_t> lengths;
  std::vector<Array<float, 2>> value;
  std::vector<Array<float, 2>> score;
  Array<float, 2> ape;
  int64_t channels() const { return ape.dim(1); }
  bool overlaps() const { return ratio == 4; }
  int64_t ring_rows() const { return overlaps() ? 2 * ratio - 1 : ratio - 1; }
};

Inputs inputs(Random& random, int64_t ratio, const std::vector<int64_t>& lengths) {
  Inputs in{ratio, lengths, {}, {}, Array<float, 2>(ratio, ratio == 4 ? 2 * kDim : kDim)};
  random.fill_normal(in.ape);
  for (const int64_t length : lengths) {
    in.value.emplace_back(length, in.channels());
    in.score.emplace_back(length, in.channels());
    random.fill_normal(in.value.back());
    random.fill_normal(in.score.back(), 1.5);
  }
  return in;
}

template <class Act>
std::vector<Array<Act, 2>> empty_results(const Inputs& in) {
  std::vector<Array<Act, 2>> rows;
  for (const int64_t length : in.lengths) rows.emplace_back(length / in.ratio, kDim);
  return rows;
}

// All pooled rows of all sequences, produced step by step.
template <class Act>
std::vector<Array<Act, 2>> pool(const Inputs& in, const Places& places, const Schedule& steps) {
  cpu::Context ctx;
  std::vector<Array<Act, 2>> result = empty_results<Act>(in);
  Array<std::byte, 3> ring = places.make_ring(in.ring_rows(), 2 * in.channels() * static_cast<int64_t>(sizeof(float)));
  for (const std::vector<Piece>& pieces : steps) {
    const Step step(places, pieces);
    Array<float, 2> raw(step.size(), 2 * in.channels());
    ops::pack_raw(ctx, raw, gather(in.value, pieces), gather(in.score, pieces), step.positions, in.ape);
    Array<int64_t, 1> first(pieces.size() + 1);
    ops::compressed_row_offsets(ctx, first, step.view(), in.ratio);
    const int64_t rows = first(pieces.size());
    Array<Act, 2> pooled(rows, kDim);
    Array<int64_t, 1> row_positions(rows);
    ops::pool_compressed<Act>(ctx, pooled, row_positions, first, step.view(), raw, ring_of(ring), in.ratio);
    std::vector<Piece> made;
    for (size_t i = 0; i < pieces.size(); ++i) {
      made.push_back({pieces[i].sequence, pieces[i].position / in.ratio, first(i + 1) - first(i)});
      for (int64_t r = first(i); r < first(i + 1); ++r) {
        EXPECT_EQ(row_positions(r), in.ratio * (pieces[i].position / in.ratio + r - first(i)));
      }
    }
    scatter(result, pooled, made);
    const auto* bytes = reinterpret_cast<const std::byte*>(raw.begin());
    ops::write_ring(ctx, ring_of(ring), {bytes, raw.dim(0), ring.dim(2)}, step.view());
  }
  return result;
}

enum class Form { kReference, kApeOffByOne, kHalvesSwapped, kNoOverlap, kOneTokenLate };

template <class Act>
std::vector<Array<double, 2>> defined_pool(const Inputs& in, Form form = Form::kReference) {
  std::vector<Array<double, 2>> result = empty_results<double>(in);
  for (size_t s = 0; s < result.size(); ++s) {
    for (int64_t j = 0; j < result[s].dim(0); ++j) {
      for (int64_t c = 0; c < kDim; ++c) {
        double sum = 0;
        double weights = 0;
        const auto add = [&](int64_t t, int64_t channel) {
          const int64_t a = (t + (form == Form::kApeOffByOne ? 1 : 0)) % in.ratio;
          const double weight = std::exp(as_double(in.score[s](t, channel) + in.ape(a, channel)));
          weights += weight;
          sum += weight * as_double(in.value[s](t, channel));
        };
        const int64_t own = in.overlaps() != (form == Form::kHalvesSwapped) ? kDim : 0;
        const int64_t first = in.ratio * j + (form == Form::kOneTokenLate ? -1 : 0);
        for (int64_t t = first - in.ratio; in.overlaps() && form != Form::kNoOverlap && t < first; ++t) {
          if (t >= 0 && j > 0) add(t, kDim - own + c);
        }
        for (int64_t t = std::max(first, int64_t{0}); t < first + in.ratio; ++t) add(t, own + c);
        result[s](j, c) = sum / weights;
      }
    }
  }
  return result;
}

TEST(RawRow, IsTheValueThenTheScorePlusTheTermOfItsPositionModuloRatio) {
  cpu::Context ctx;
  const Array<float, 2> value = matrix_of<float>({{1, 2}, {3, 4}, {5, 6}});
  const Array<float, 2> score = matrix_of<float>({{10, 20}, {30, 40}, {50, 60}});
  const Array<float, 2> ape = matrix_of<float>({{0.5f, 0.25f}, {1, 2}, {3, 4}, {7, 8}});
  Array<float, 2> raw(3, 4);
  ops::pack_raw(ctx, raw, value, score, array_of<int64_t>({3, 4, 130}), ape);
  EXPECT_TRUE(same_bits(raw, matrix_of<float>({{1, 2, 17, 28}, {3, 4, 30.5f, 40.25f}, {5, 6, 53, 64}})));
}

TEST(CompressedRows, AreCompleteWithTheLastTokenOfTheirGroup) {
  cpu::Context ctx;
  Random random(111);
  const Places places(random, 4, 1);
  // 0..2: none; 3: row 0; 7..8: row 1; 126..255: rows 31..63.
  const Step step(places, {{0, 0, 3}, {1, 3, 1}, {2, 7, 2}, {3, 126, 130}});
  Array<int64_t, 1> first(5);
  ops::compressed_row_offsets(ctx, first, step.view(), 4);
  EXPECT_TRUE(same_bits(first, array_of<int64_t>({0, 0, 1, 2, 35})));
  ops::compressed_row_offsets(ctx, first, step.view(), 128);  // 127 and 255 end groups
  EXPECT_TRUE(same_bits(first, array_of<int64_t>({0, 0, 0, 0, 2})));
  Array<int64_t, 1> none(1);
  ops::compressed_row_offsets(ctx, none, Step(places, {}).view(), 4);
  EXPECT_EQ(none(0), 0);
}

TYPED_TEST(Compressor, PoolsByTheSoftmaxOfTheScores) {
  Random random(112);
  for (const int64_t ratio : {4, 128}) {
    const Inputs in = inputs(random, ratio, {3, 4, 5, 8, 23, 127, 128, 261});
    const Places places(random, in.lengths.size(), 1);
    const auto got = pool<TypeParam>(in, places, schedule(in.lengths, std::vector<int64_t>(8, kWhole)));
    const auto want = defined_pool<TypeParam>(in);
    for (size_t s = 0; s < got.size(); ++s) {
      EXPECT_TRUE(matches(got[s], want[s], kFp32)) << "ratio " << ratio << ", " << in.lengths[s] << " tokens";
    }
  }
}

TYPED_TEST(Compressor, IsTheSameInStepsOfAnySize) {
  Random random(113);
  for (const int64_t ratio : {4, 128}) {
    const Inputs in = inputs(random, ratio, {3, 37, 261, 290});
    const Places places(random, in.lengths.size(), 1);
    const auto whole = pool<TypeParam>(in, places, schedule(in.lengths, {kWhole, kWhole, kWhole, kWhole}));
    for (const std::vector<int64_t>& chunks :
         {std::vector<int64_t>{1, 1, 1, 1}, {3, 3, 3, 3}, {1, 5, 130, 7}, {2, 37, 128, 3}}) {
      const auto got = pool<TypeParam>(in, places, schedule(in.lengths, chunks));
      for (size_t s = 0; s < got.size(); ++s) {
        EXPECT_TRUE(same_bits(got[s], whole[s])) << "ratio " << ratio << ", sequence " << s;
      }
    }
  }
}

TYPED_TEST(Compressor, DoesNotDependOnTheOtherSequences) {
  Random random(114);
  const Inputs in = inputs(random, 4, {19, 30});
  const Places places(random, 2, 1);
  const auto both = pool<TypeParam>(in, places, schedule(in.lengths, {4, 5}));
  Schedule alone;
  for (int64_t p = 0; p < 30; p += 5) alone.push_back({{1, p, 5}});
  EXPECT_TRUE(same_bits(pool<TypeParam>(in, places, alone)[1], both[1]));
}

TYPED_TEST(Compressor, SurvivesLargeScores) {
  Random random(115);
  Inputs in = inputs(random, 4, {12});
  for (int64_t t = 0; t < 12; ++t) {
    for (int64_t c = 0; c < 2 * kDim; ++c) in.score[0](t, c) = t % 4 == 2 ? 500.0f : -500.0f;
  }
  const Places places(random, 1, 1);
  const auto got = pool<TypeParam>(in, places, {{{0, 0, 12}}});
  for (const TypeParam& v : got[0]) EXPECT_TRUE(std::isfinite(as_double(v)));
  for (int64_t c = 0; c < kDim; ++c) {  // row 0 has only its own group, where token 2 wins
    EXPECT_EQ(as_double(got[0](0, c)), rounded<TypeParam>(as_double(in.value[0](2, kDim + c))));
  }
}

class CompressorNegativeControl : public testing::TestWithParam<Form> {};

TEST_P(CompressorNegativeControl, IsSeen) {
  Random random(116);
  const Inputs in = inputs(random, 4, {24});
  const Places places(random, 1, 1);
  EXPECT_FALSE(matches(pool<bf16>(in, places, {{{0, 0, 24}}})[0], defined_pool<bf16>(in, GetParam())[0], kFp32));
}

std::string defect_name(const testing::TestParamInfo<Form>& defect) {
  switch (defect.param) {
    case Form::kReference: return "None";
    case Form::kApeOffByOne: return "ApeIndexOffByOne";
    case Form::kHalvesSwapped: return "HalvesSwapped";
    case Form::kNoOverlap: return "NoOverlap";
    case Form::kOneTokenLate: return "GroupShiftedByOneToken";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Defect, CompressorNegativeControl,
                         testing::Values(Form::kApeOffByOne, Form::kHalvesSwapped, Form::kNoOverlap,
                                         Form::kOneTokenLate),
                         defect_name);

}  // namespace
}  // namespace octet::test
