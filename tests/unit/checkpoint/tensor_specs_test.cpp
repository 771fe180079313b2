// The table against the published counts and bytes of both releases, and its splits against the whole tensors.
#include "model/tensor_specs.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

std::vector<TensorSpec> specs_of(const std::string& config) {
  return tensor_specs(read_model_config(test::data_path(config)));
}

int64_t total_bytes(const std::vector<TensorSpec>& specs) {
  int64_t bytes = 0;
  for (const TensorSpec& spec : specs) bytes += spec.bytes();
  return bytes;
}

std::map<int, int> tensors_per_shard(const std::vector<TensorSpec>& specs) {
  std::map<int, int> count;
  for (const TensorSpec& spec : specs) ++count[spec.shard];
  return count;
}

const TensorSpec& named(const std::vector<TensorSpec>& specs, const std::string& name) {
  const auto at = std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& spec) { return spec.name == name; });
  if (at == specs.end()) throw std::out_of_range(name);
  return *at;
}

TEST(TensorSpecs, FlashHasThePublishedCountAndBytes) {
  const auto specs = specs_of("configs/v4-flash.json");
  EXPECT_EQ(specs.size(), 69187u);
  EXPECT_EQ(total_bytes(specs), 159609485896);
}

TEST(TensorSpecs, Flash0731HasThePublishedCountAndBytes) {
  const auto specs = specs_of("configs/v4-flash-0731.json");
  EXPECT_EQ(specs.size(), 72317u);
  EXPECT_EQ(total_bytes(specs), 166878536440);
}

TEST(TensorSpecs, FlashFilesHoldThePublishedNumbersOfTensors) {
  const auto count = tensors_per_shard(specs_of("configs/v4-flash.json"));
  EXPECT_EQ(count.size(), 46u);
  EXPECT_EQ(count.at(1), 1);      // embed
  EXPECT_EQ(count.at(2), 1565);   // layer 0, window only
  EXPECT_EQ(count.at(4), 1576);   // layer 2, ratio 4
  EXPECT_EQ(count.at(5), 1569);   // layer 3, ratio 128
  EXPECT_EQ(count.at(44), 1576);  // layer 42, ratio 4
  EXPECT_EQ(count.at(45), 5);     // norm, head, hc_head
  EXPECT_EQ(count.at(46), 1575);  // mtp.0
}

TEST(TensorSpecs, DsparkStagesHoldThePublishedNumbersOfTensors) {
  const auto count = tensors_per_shard(specs_of("configs/v4-flash-0731.json"));
  EXPECT_EQ(count.size(), 48u);
  EXPECT_EQ(count.at(46), 1568);
  EXPECT_EQ(count.at(47), 1565);
  EXPECT_EQ(count.at(48), 1572);
}

TEST(TensorSpecs, NamesAreUnique) {
  std::set<std::string> names;
  for (const TensorSpec& spec : specs_of("configs/v4-flash-0731.json")) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  }
}

TEST(TensorSpecs, ShardNamesAreTheOfficialOnes) {
  EXPECT_EQ(shard_name(3, 46), "model-00003-of-00046.safetensors");
}

TEST(LocalSlice, GivesTheMiddleRowsOfWqB) {
  const auto specs = specs_of("configs/v4-flash.json");
  const Slice weight = local_slice(named(specs, "layers.7.attn.wq_b.weight"), 3, 8);
  EXPECT_EQ(weight.dim, 0);
  EXPECT_EQ(weight.begin, 3 * 4096);
  EXPECT_EQ(weight.end, 4 * 4096);
  const Slice scale = local_slice(named(specs, "layers.7.attn.wq_b.scale"), 3, 8);
  EXPECT_EQ(scale.begin, 3 * 32);
  EXPECT_EQ(scale.end, 4 * 32);
}

TEST(LocalSlice, GivesColumnsOfTheDownProjectionInBytesAndScales) {
  const auto specs = specs_of("configs/v4-flash.json");
  const Slice weight = local_slice(named(specs, "layers.7.ffn.experts.255.w2.weight"), 1, 8);
  EXPECT_EQ(weight.dim, 1);
  EXPECT_EQ(weight.begin, 128);  // 256 fp4 columns are 128 bytes
  EXPECT_EQ(weight.end, 256);
  const Slice scale = local_slice(named(specs, "layers.7.ffn.experts.255.w2.scale"), 1, 8);
  EXPECT_EQ(scale.begin, 8);
  EXPECT_EQ(scale.end, 16);
}

TEST(LocalSlice, KeepsTheIndexerWhole) {
  const auto specs = specs_of("configs/v4-flash.json");
  const Slice slice = local_slice(named(specs, "layers.2.attn.indexer.wq_b.weight"), 5, 8);
  EXPECT_EQ(slice.begin, 0);
  EXPECT_EQ(slice.end, 8192);
}

TEST(LocalSlice, SharesTheScaleRowThatARowCutDivides) {
  TensorSpec scale;
  scale.name = "w.scale";
  scale.dtype = DType::kF8E8m0;
  scale.shape = {4, 1};
  scale.split = Split::kRows;
  scale.step = 128;
  scale.block = 128;
  scale.extent = 512;
  const Slice first = local_slice(scale, 0, 8);
  const Slice second = local_slice(scale, 1, 8);
  EXPECT_EQ(first.begin, 0);
  EXPECT_EQ(first.end, 1);
  EXPECT_EQ(first.first_row, 0);
  EXPECT_EQ(second.begin, 0);
  EXPECT_EQ(second.end, 1);
  EXPECT_EQ(second.first_row, 64);
}

TEST(LocalSlice, RefusesAColumnCutInsideABlock) {
  TensorSpec weight;
  weight.name = "w.weight";
  weight.dtype = DType::kF8E4m3;
  weight.shape = {128, 256};
  weight.split = Split::kColumns;
  weight.block = 128;
  weight.extent = 256;
  EXPECT_EQ(local_slice(weight, 1, 2).begin, 128);
  test::expect_error(Code::kUsage, {"4 ranks", "w.weight", "256 columns", "multiple of 128"},
                     [&] { local_slice(weight, 1, 4); });
}

TEST(LocalSlice, RefusesUnequalParts) {
  TensorSpec sink;
  sink.name = "attn_sink";
  sink.shape = {12};
  sink.split = Split::kRows;
  sink.extent = 12;
  test::expect_error(Code::kUsage, {"8 ranks", "attn_sink", "12 rows"}, [&] { local_slice(sink, 0, 8); });
}

/// Every rank's slice begins where the one before it ended (or shares the scale row there), and together they are
/// whole.
class SplitOverRanks : public testing::TestWithParam<int> {};

TEST_P(SplitOverRanks, SlicesCoverEveryTensorOfBothReleases) {
  const int ranks = GetParam();
  for (const char* config :
       {"configs/v4-flash.json", "configs/v4-flash-0731.json", "golden/configs/tiny-dspark.json"}) {
    for (const TensorSpec& spec : specs_of(config)) {
      if (spec.split == Split::kReplicate) continue;
      int64_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Slice slice = local_slice(spec, rank, ranks);
        ASSERT_EQ(slice.begin, slice.first_row > 0 && spec.step > 1 ? end - 1 : end) << spec.name;
        ASSERT_GT(slice.end, slice.begin) << spec.name;
        end = slice.end;
      }
      ASSERT_EQ(end, spec.shape[spec.split == Split::kRows ? 0 : 1]) << spec.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SplitOverRanks, testing::Values(1, 2, 4, 8));

}  // namespace
}  // namespace octet
