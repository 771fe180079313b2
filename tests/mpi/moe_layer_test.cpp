// The mixture of experts over 1, 2, 4 or 8 ranks against the definition on one rank, routed by token and by score, in
// every numerics.
#include <gtest/gtest.h>

#include "kernels/segments.h"
#include "layers/moe.h"
#include "tests/mpi/defined_layers.h"
#include "tests/mpi/layer_case.h"
#include "tests/support/random.h"
#include "tests/support/steps.h"

namespace octet::test {
namespace {

constexpr int64_t kTokens = 12;

template <class Act>
struct MoeCase {
  int64_t layer;
  Numerics numerics;
  Array<Act, 2> z;
  Places places;
  Step step;  // two sequences

  MoeCase(Random& random, int64_t of_layer, Numerics of_numerics)
      : layer(of_layer),
        numerics(of_numerics),
        z(kTokens, shared_model().config.hidden_size),
        places(random, 2, 1),
        step(places, {{0, 7, 5}, {1, 0, kTokens - 5}}) {
    random.fill_normal(z);
    for (int32_t& token : step.tokens) token = static_cast<int32_t>(random.integer(0, 511));
  }

  struct Output {
    Array<Act, 2> reduced, own;  // own: without the reduction
  };
  /// The layer's output for rows [first, first + count).
  Output run(int64_t first, int64_t count) {
    RankContext rank(numerics);
    const SharedModel& model = shared_model();
    Segments batch = step.view();
    batch.tokens = batch.tokens.rows(first, count);
    Array<float, 2> share(count, z.dim(1));
    Array<Act, 2> out(count, z.dim(1));
    Partial partial = moe<cpu::Context, Act>(rank.ctx, share, Mat<const Act>(z.view().rows(first, count)),
                                             model.weights.layers[static_cast<size_t>(layer)].moe, model.config, batch);
    const Array<Act, 2> own = rounded_share<Act>(share);
    reduce(rank.ctx, std::move(partial), ReductionTarget<Act>{out.view(), {}}, {layer, Site::Kind::kFfn});
    return {out, own};
  }
};

/// exact: fp32 sums, 3e-7 measured. The others: nearly every element has the definition's bits; a flipped rounding of
/// g, u or t (2^-8; 2^-4 where t is quantised) moves last places of one row. 1e-3 of the elements and 1e-4 measured.
RowBound bound(Numerics numerics) {
  if (numerics == Numerics::kExact) return {.worst = 1e-5};
  return {.worst = 5e-3, .touched = 0.4};
}

/// |got - want| within what rounding every expert's output, the sum and a flip before them may cost, for all but 1 in
/// 200 elements.
template <class Act>
testing::AssertionResult within_expert_roundings(const Array<Act, 2>& got,
                                                 const std::vector<typename DefinedMoe<Act>::Output>& want) {
  int64_t beyond = 0;
  for (int64_t t = 0; t < got.dim(0); ++t) {
    for (int64_t d = 0; d < got.dim(1); ++d) {
      const double y = want[static_cast<size_t>(t)].each[static_cast<size_t>(d)];
      const double allowed = want[static_cast<size_t>(t)].rounding[static_cast<size_t>(d)] + half_ulp<Act>(y);
      beyond += std::fabs(as_double(got(t, d)) - y) <= 1.01 * allowed ? 0 : 1;
    }
  }
  if (200 * beyond <= got.size()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << beyond << " of " << got.size() << " elements are too far";
}

template <class Act>
void expect_definition(int64_t layer, Numerics numerics) {
  Random random(321);
  MoeCase<Act> c(random, layer, numerics);
  const auto [got, own] = c.run(0, kTokens);
  EXPECT_TRUE(same_on_all_ranks(hash_of_array(got)));
  for (const int64_t t : {0, 11}) {
    EXPECT_TRUE(same_bits(c.run(t, 1).reduced, copy_rows(got, t, 1))) << "token " << t << " alone";
  }
  if (!is_root()) return;
  const DefinedMoe<Act> definition(shared_model().whole, layer, numerics);
  std::vector<Row> each, none;
  std::vector<typename DefinedMoe<Act>::Output> reference;
  for (int64_t t = 0; t < kTokens; ++t) {
    const Row z = as_row<Act>(c.z.view()[t]);
    reference.push_back(definition.output(z, c.step.tokens(t)));
    each.push_back(reference.back().each);
    none.push_back(reference.back().none);
  }
  const bool one = session().size() == 1;
  EXPECT_TRUE(rows_agree(got, one ? each : none, bound(numerics)));
  if constexpr (std::is_same_v<Act, bf16>) {
    EXPECT_TRUE(within_expert_roundings(got, reference));
    EXPECT_FALSE(rows_agree(got, one ? none : each, bound(numerics))) << "the other rounding must be seen";
  }
  EXPECT_EQ(one, static_cast<bool>(rows_agree(own, one ? each : none, bound(numerics))))
      << "a missing reduction must be seen";
}

class MoeLayer : public testing::TestWithParam<std::tuple<int64_t, Numerics>> {};

TEST_P(MoeLayer, SumsToTheDefinitionOnEveryRank) {
  const auto& [layer, numerics] = GetParam();
  numerics == Numerics::kExact ? expect_definition<float>(layer, numerics) : expect_definition<bf16>(layer, numerics);
}

std::string case_name(const testing::TestParamInfo<MoeLayer::ParamType>& info) {
  return (std::get<0>(info.param) < 3 ? "by_token_" : "by_score_") + numerics_name(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Ranks, MoeLayer,
                         testing::Combine(testing::Values(1, 3),
                                          testing::Values(Numerics::kExact, Numerics::kWeightOnly,
                                                          Numerics::kOfficial)),
                         case_name);

}  // namespace
}  // namespace octet::test
