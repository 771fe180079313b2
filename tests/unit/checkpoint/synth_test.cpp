// Synthetic checkpoints against the recorded checksum of every tensor, and as model folders.
#include "model/synth.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "model/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

struct GoldenCheckpoint {
  const char* name;
  uint64_t seed;
};

class SyntheticCheckpoint : public testing::TestWithParam<GoldenCheckpoint> {};

TEST_P(SyntheticCheckpoint, HasTheRecordedChecksumOfEveryTensor) {
  const std::string config = test::data_path("golden/configs/" + std::string(GetParam().name) + ".json");
  const std::string sums = test::data_path("golden/sha256/" + std::string(GetParam().name) + ".json");
  const Json expected = parse_json(test::read_file(sums), sums);
  const test::TempFolder folder;
  write_synthetic_checkpoint(config, GetParam().seed, folder.path());
  const Checkpoint checkpoint = open_checkpoint(folder.path());

  EXPECT_EQ(checkpoint.tensors.size(), expected.members.size());
  std::vector<MappedFile> shards;
  for (size_t i = 0; i < checkpoint.files.size(); ++i) shards.emplace_back(checkpoint.path(static_cast<int>(i)));
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    const auto bytes = shards[static_cast<size_t>(tensor.file)].bytes().subspan(
        static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.spec.bytes()));
    const Json* sum = expected.find(tensor.spec.name);
    ASSERT_NE(sum, nullptr) << tensor.spec.name;
    EXPECT_EQ(sha256(bytes), sum->text) << tensor.spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, SyntheticCheckpoint,
                         testing::Values(GoldenCheckpoint{"tiny", 7}, GoldenCheckpoint{"tiny-dspark", 11},
                                         GoldenCheckpoint{"tiny-l4", 13}, GoldenCheckpoint{"tiny-l128", 13}),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(WriteSyntheticCheckpoint, UsesTheOfficialFileLayout) {
  const test::TempFolder folder;
  write_synthetic_checkpoint(test::data_path("golden/configs/tiny-l4.json"), 1, folder.file("model"));
  const Checkpoint checkpoint = open_checkpoint(folder.file("model"));
  EXPECT_EQ(checkpoint.files,
            (std::vector<std::string>{"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                                      "model-00003-of-00003.safetensors"}));
  EXPECT_EQ(test::read_file(folder.file("model/config.json")),
            test::read_file(test::data_path("golden/configs/tiny-l4.json")));
}

TEST(WriteSyntheticCheckpoint, RefusesAFolderThatIsNotEmpty) {
  const test::TempFolder folder;
  test::write_file(folder.file("note.txt"), "mine");
  test::expect_error(Code::kUsage, {folder.path(), "not empty"}, [&] {
    write_synthetic_checkpoint(test::data_path("golden/configs/tiny-l4.json"), 1, folder.path());
  });
  EXPECT_EQ(test::read_file(folder.file("note.txt")), "mine");
}

TEST(WriteSyntheticCheckpoint, RefusesAPathThatIsAFile) {
  const test::TempFolder folder;
  test::write_file(folder.file("taken"), "mine");
  test::expect_error(Code::kUsage, {folder.file("taken")}, [&] {
    write_synthetic_checkpoint(test::data_path("golden/configs/tiny-l4.json"), 1, folder.file("taken"));
  });
}

TEST(FillSynthetic, GivesTheSameBytesInPiecesAsWhole) {
  const std::vector<TensorSpec> specs =
      tensor_specs(read_model_config(test::data_path("golden/configs/tiny-l128.json")));
  for (const TensorSpec& spec : specs) {
    const auto element = static_cast<size_t>(dtype_bytes(spec.dtype));
    std::vector<std::byte> whole(static_cast<size_t>(spec.bytes()));
    fill_synthetic(whole, spec, 5, 0, 8);
    const size_t cut = whole.size() / element / 3;
    std::vector<std::byte> rest(whole.size() - cut * element);
    fill_synthetic(rest, spec, 5, static_cast<int64_t>(cut), 8);
    ASSERT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + static_cast<std::ptrdiff_t>(cut * element)))
        << spec.name;
  }
}

}  // namespace
}  // namespace octet
