// The inventory: complete folders of both releases pass, and every way to be incomplete is refused by name.
#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <ctime>

#include "model/inventory.h"
#include "tests/support/expect_error.h"
#include "tests/support/sparse_checkpoint.h"

namespace octet {
namespace {

using test::Damage;

const std::string& small_config() {
  static const std::string path = test::data_path("golden/configs/tiny-l4.json");
  return path;
}
constexpr const char* kLayerShard = "model-00002-of-00003.safetensors";

/// Opening a folder with this damage fails with a message that holds `parts`.
void expect_refused(const Damage& damage, std::initializer_list<std::string_view> parts) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path(), damage);
  test::expect_error(Code::kCheckpoint, parts, [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, OpensACompleteFolder) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  const Checkpoint checkpoint = open_checkpoint(folder.path());
  EXPECT_EQ(checkpoint.files.size(), 3u);
  EXPECT_EQ(checkpoint.tensors.size(), tensor_specs(checkpoint.config).size());
  EXPECT_EQ(checkpoint.tensors[0].spec.name, "embed.weight");
  EXPECT_EQ(checkpoint.path(checkpoint.tensors[0].file), folder.file("model-00001-of-00003.safetensors"));
}

struct Release {
  const char* config;
  size_t tensors;
  int64_t bytes;
  size_t files;
};
class FullSizeCheckpoint : public testing::TestWithParam<Release> {};

TEST_P(FullSizeCheckpoint, IsInventoriedFromItsHeadersWithinSeconds) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(test::data_path(GetParam().config), folder.path());
  const std::clock_t start = std::clock();  // processor time: a busy machine must not fail this
  const Checkpoint checkpoint = open_checkpoint(folder.path());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(checkpoint.tensors.size(), GetParam().tensors);
  EXPECT_EQ(checkpoint.tensor_bytes, GetParam().bytes);
  EXPECT_EQ(checkpoint.files.size(), GetParam().files);
  // About 1 s; 8 s under the sanitizers on a busy machine. Reading 160 GB of data would take far longer than 20.
  EXPECT_LT(seconds, 20);
  RecordProperty("seconds", std::to_string(seconds));
}

INSTANTIATE_TEST_SUITE_P(Releases, FullSizeCheckpoint,
                         testing::Values(Release{"configs/v4-flash.json", 69187, 159609485896, 46},
                                         Release{"configs/v4-flash-0731.json", 72317, 166878536440, 48}));

TEST(Checkpoint, RefusesAMissingFolder) {
  test::expect_error(Code::kCheckpoint, {"/nowhere", "no such model folder"}, [] { open_checkpoint("/nowhere"); });
}

TEST(Checkpoint, RefusesAFolderWithoutAnIndex) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  std::filesystem::remove(folder.file(kIndexName));
  test::expect_error(Code::kCheckpoint, {kIndexName, "the index is missing"}, [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, RefusesAMissingShard) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  std::filesystem::remove(folder.file(kLayerShard));
  test::expect_error(Code::kCheckpoint, {kLayerShard, "the shard is missing"}, [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, RefusesATruncatedShard) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  std::filesystem::resize_file(folder.file(kLayerShard), std::filesystem::file_size(folder.file(kLayerShard)) - 1);
  test::expect_error(Code::kCheckpoint, {kLayerShard, "lie outside the file"}, [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, RefusesAMissingTensorAndSaysWhatItShouldBe) {
  expect_refused({.drop = "layers.0.attn.wq_b.weight"},
                 {kIndexName, "layers.0.attn.wq_b.weight is missing", "F8_E4M3 [1024, 128]"});
}

TEST(Checkpoint, RefusesAnUnknownTensor) {
  expect_refused({.rename_from = "norm.weight", .rename_to = "final_norm.weight"},
                 {"unknown tensor final_norm.weight", "model-00003-of-00003.safetensors"});
}

TEST(Checkpoint, RefusesAnotherDtype) {
  expect_refused({.retype = "layers.0.attn.attn_sink"},
                 {kLayerShard, "layers.0.attn.attn_sink is I8 [32]", "expected F32 [8]"});
}

TEST(Checkpoint, RefusesAnotherShape) {
  expect_refused({.reshape = "layers.0.attn.wo_b.scale"},
                 {kLayerShard, "layers.0.attn.wo_b.scale is F8_E8M0 [16]", "expected F8_E8M0 [2, 8]"});
}

TEST(Checkpoint, RefusesATotalSizeThatIsNotTheSum) {
  expect_refused({.total_size_error = 7},
                 {kIndexName, "metadata.total_size is 5931787", "the tensors take 5931780 bytes"});
}

TEST(Checkpoint, RefusesATensorInTwoShards) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  const std::vector<TensorDeclaration> twice = {{"embed.weight", DType::kBf16, {512, 256}},
                                                {"norm.weight", DType::kBf16, {256}}};
  SafetensorsWriter writer(folder.file("model-00001-of-00003.safetensors"), twice);
  writer.write(std::span<const std::byte>(std::vector<std::byte>(512 * 256 * 2 + 512)));
  writer.close();
  test::expect_error(Code::kCheckpoint, {"norm.weight is in two shards", "model-00001"},
                     [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, RefusesATensorThatIsNotWhereTheIndexSays) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  std::string index = test::read_file(folder.file(kIndexName));
  const std::string entry = R"("norm.weight":"model-0000)";
  index[index.rfind(entry) + entry.size()] = '1';
  test::write_file(folder.file(kIndexName), index);
  test::expect_error(Code::kCheckpoint, {"norm.weight is here", "the index says model-00001"},
                     [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, RefusesAnIndexThatLeadsOutOfTheFolder) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  test::write_file(folder.file(kIndexName),
                   R"({"metadata":{"total_size":1},"weight_map":{"embed.weight":"../other.safetensors"}})");
  test::expect_error(Code::kCheckpoint, {"embed.weight", "../other.safetensors", "expected a file name"},
                     [&] { open_checkpoint(folder.path()); });
}

TEST(Checkpoint, RefusesAnIndexWithoutATotal) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(small_config(), folder.path());
  test::write_file(folder.file(kIndexName), R"({"weight_map":{}})");
  test::expect_error(Code::kCheckpoint, {kIndexName, "metadata.total_size"}, [&] { open_checkpoint(folder.path()); });
}

TEST(InventoryText, FoldsLayersAndEndsWithTheTotals) {
  const test::TempFolder folder;
  test::write_sparse_checkpoint(test::data_path("configs/v4-flash.json"), folder.path());
  const std::string text = inventory_text(open_checkpoint(folder.path()));
  EXPECT_TRUE(text.ends_with("\n69187 tensors, 159609485896 bytes in 46 files\n"));
  const std::string line = text.substr(text.find("layers.*.attn.wq_b.weight"));
  EXPECT_NE(line.substr(0, line.find('\n')).find("x43"), std::string::npos);
  EXPECT_NE(line.substr(0, line.find('\n')).find("F8_E4M3 [32768, 1024]"), std::string::npos);
  EXPECT_NE(line.substr(0, line.find('\n')).find("rows -> [4096, 1024] at 8 ranks"), std::string::npos);
}

}  // namespace
}  // namespace octet
