// The whole model through the CPU runner on 1, 2, 4 or 8 ranks: in exact it draws the tokens that the reference's
// recorded logits prefer, whatever the number of ranks, and the residual streams are the same bytes on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/runner.h"
#include "tests/mpi/layer_case.h"
#include "tests/support/tensors.h"

namespace octet::test {
namespace {

std::unique_ptr<Runner> make_runner(Numerics numerics, StreamTap tap = {}) {
  RunnerSetup setup;
  setup.model_dir = shared_model().folder;
  setup.config = shared_model().config;
  setup.run.model = setup.model_dir;
  setup.run.numerics = numerics;
  setup.capacity = {.slots = 2, .pages = 2, .max_seq_len = 1024};
  setup.session = &session();
  setup.tap = std::move(tap);
  return make_cpu_runner(setup);
}

/// A recorded prompt, the tokens fed after it, and the logits after each of them.
struct Recorded {
  std::vector<int32_t> prompt, fed;
  std::vector<float> prefill, decode;
  Recorded(const Tensors& golden, const std::string& p)
      : prompt(golden.values<int32_t>(p + ".prompt")),
        fed(golden.values<int32_t>(p + ".decode_fed")),
        prefill(golden.values<float>(p + ".prefill_logits_last" + std::to_string(prompt.size()))),
        decode(golden.values<float>(p + ".decode_logits")) {}
};

std::vector<float> row_of(const std::vector<float>& logits, int64_t row) {
  const auto begin = logits.begin() + row * shared_model().config.vocab_size;
  return {begin, begin + shared_model().config.vocab_size};
}

/// The drawn token and, on rank 0, the logits of sample i against a recorded row.
void expect_recorded(const Runner& runner, TokenId drawn, int64_t i, const std::vector<float>& want) {
  EXPECT_EQ(drawn, std::max_element(want.begin(), want.end()) - want.begin());
  if (!is_root()) return;
  const Vec<const float> got = runner.logits()[i];
  EXPECT_LT(relative_l2({got.begin(), got.end()}, want), 1e-4);
}

TEST(Model, DrawsTheTokensOfTheRecordedLogitsOnAnyNumberOfRanks) {
  const Tensors golden(data_path("golden/tiny.exact.safetensors"));
  const Recorded recorded[] = {{golden, "p4"}, {golden, "p31"}};
  const auto runner = make_runner(Numerics::kExact);
  BatchPlan prefill;
  for (int32_t s = 0; s < 2; ++s) prefill.segments.push_back({s, 0, recorded[s].prompt, {s}});
  for (int64_t row = 0; row < prefill.tokens(); ++row) prefill.samples.push_back({row, true, {}});
  std::span<const TokenId> drawn = runner->step(prefill);
  ASSERT_EQ(drawn.size(), 35u);
  EXPECT_TRUE(same_on_all_ranks({drawn.begin(), drawn.end()}));
  for (int64_t i = 0; i < 35; ++i) {
    const Recorded& r = recorded[i < 4 ? 0 : 1];
    expect_recorded(*runner, drawn[static_cast<size_t>(i)], i, row_of(r.prefill, i < 4 ? i : i - 4));
  }
  for (size_t step = 0; step < 8; ++step) {
    BatchPlan decode;
    for (int32_t s = 0; s < 2; ++s) {
      const auto position = static_cast<int64_t>(recorded[s].prompt.size() + step);
      decode.segments.push_back({s, position, {recorded[s].fed[step]}, {s}});
      decode.samples.push_back({s, true, {}});
    }
    drawn = runner->step(decode);
    EXPECT_TRUE(same_on_all_ranks({drawn.begin(), drawn.end()}));
    for (int64_t s = 0; s < 2; ++s) {
      expect_recorded(*runner, drawn[static_cast<size_t>(s)], s,
                      row_of(recorded[s].decode, static_cast<int64_t>(step)));
    }
  }
}

class Replicas : public testing::TestWithParam<Numerics> {};

TEST_P(Replicas, HoldTheSameStreamsAfterEveryLayer) {
  std::vector<double> hashes;
  const auto runner = make_runner(GetParam(), [&](std::string_view, Cube<const float> streams) {
    hashes.push_back(hash_of(std::as_bytes(std::span(streams.data, static_cast<size_t>(streams.size())))));
  });
  BatchPlan plan;
  plan.segments = {{1, 0, {}, {1}}, {0, 0, {5, 6, 7}, {0}}};
  for (int32_t t = 0; t < 140; ++t) plan.segments[0].tokens.push_back(37 * t % 512);  // a row of ratio 128
  plan.samples = {{139, true, {.temperature = 1, .seed = 3, .position = 140}}, {142, false, {}}};
  const std::span<const TokenId> drawn = runner->step(plan);
  hashes.push_back(drawn[0]);
  ASSERT_EQ(hashes.size(), 7u);
  EXPECT_TRUE(same_on_all_ranks(hashes));
  EXPECT_EQ(drawn[1], -1);
  EXPECT_EQ(runner->logits().dim[0], is_root() ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(Model, Replicas, testing::Values(Numerics::kExact, Numerics::kWeightOnly, Numerics::kOfficial),
                         [](const auto& i) { return numerics_name(i.param); });

}  // namespace
}  // namespace octet::test
