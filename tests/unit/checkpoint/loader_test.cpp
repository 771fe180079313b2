// Loading: the slices of 1, 2, 4 and 8 ranks put together are the whole, scales included, and bad values are refused.
#include "model/loader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/mapped_file.h"
#include "model/synth.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

/// A synthetic checkpoint made once for the whole suite.
class Loading : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::TempFolder>();
    write_synthetic_checkpoint(test::data_path("golden/configs/tiny.json"), 7, folder_->path());
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::unique_ptr<test::TempFolder> folder_;
};
std::unique_ptr<test::TempFolder> Loading::folder_;

/// Copies the part of a tensor that a rank holds to its place in the whole.
void place(std::vector<std::byte>& whole, const TensorSpec& spec, const Slice& slice, const LocalTensor& local) {
  const auto element = static_cast<size_t>(dtype_bytes(spec.dtype));
  const size_t row = whole.size() / static_cast<size_t>(spec.shape[0]);
  const auto begin = static_cast<size_t>(slice.begin), count = static_cast<size_t>(slice.end - slice.begin);
  if (slice.dim == 0) {
    std::memcpy(whole.data() + begin * row, local.data, count * row);
    return;
  }
  for (size_t r = 0; r < static_cast<size_t>(spec.shape[0]); ++r) {
    std::memcpy(whole.data() + r * row + begin * element, local.data + r * count * element, count * element);
  }
}

class LoadingOverRanks : public Loading, public testing::WithParamInterface<int> {};

TEST_P(LoadingOverRanks, ReassemblesToTheWholeCheckpoint) {
  const int ranks = GetParam();
  const Checkpoint checkpoint = open_checkpoint(folder_->path());
  std::vector<LocalTensors> loaded;
  for (int rank = 0; rank < ranks; ++rank) loaded.push_back(load_local(checkpoint, rank, ranks));
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    const TensorSpec& spec = tensor.spec;
    if (spec.draft) continue;
    std::vector<std::byte> whole(static_cast<size_t>(spec.bytes()), std::byte{0xa5});
    for (int rank = 0; rank < ranks; ++rank) {
      const LocalTensor& local = loaded[static_cast<size_t>(rank)].at(spec.name);
      const Slice slice = local_slice(spec, rank, ranks);
      ASSERT_EQ(local.shape, local_shape(spec, slice)) << spec.name;
      ASSERT_EQ(reinterpret_cast<uintptr_t>(local.data) % 64, 0u) << spec.name;
      place(whole, spec, slice, local);
    }
    std::vector<std::byte> expected(whole.size());
    fill_synthetic(expected, spec, 7, 0, checkpoint.config.n_routed_experts);
    ASSERT_EQ(whole, expected) << spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LoadingOverRanks, testing::Values(1, 2, 4, 8));

TEST_F(Loading, ReportsEveryByteOfOneRankAndKeepsAllButTheDraftBlock) {
  const Checkpoint checkpoint = open_checkpoint(folder_->path());
  LoadProgress last;
  const LocalTensors tensors = load_local(checkpoint, 0, 1, [&](const LoadProgress& p) { last = p; });
  EXPECT_EQ(tensors.bytes_read(), checkpoint.tensor_bytes);
  EXPECT_EQ(last.bytes_done, checkpoint.tensor_bytes);
  EXPECT_EQ(last.bytes_total, checkpoint.tensor_bytes);
  EXPECT_LT(tensors.bytes_held(), checkpoint.tensor_bytes);
  test::expect_error(Code::kInternal, {"mtp.0.norm.weight"}, [&] { tensors.at("mtp.0.norm.weight"); });
}

TEST_F(Loading, RefusesThreeRanks) {
  const Checkpoint checkpoint = open_checkpoint(folder_->path());
  test::expect_error(Code::kUsage, {"3 ranks", "1, 2, 4 or 8"}, [&] { load_local(checkpoint, 0, 3); });
}

/// Writes `bytes` over one element of the checkpoint, expects a refusal, and restores it.
class LoadingBadValues : public Loading {
 protected:
  void expect_refused(const std::string& name, int64_t element, std::string_view bytes,
                      std::initializer_list<std::string_view> parts) {
    const Checkpoint checkpoint = open_checkpoint(folder_->path());
    const auto tensor = std::find_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                     [&](const CheckpointTensor& t) { return t.spec.name == name; });
    ASSERT_NE(tensor, checkpoint.tensors.end());
    const auto at = static_cast<std::streamoff>(tensor->offset + element * dtype_bytes(tensor->spec.dtype));
    std::string before(bytes.size(), '\0');
    std::fstream file(checkpoint.path(tensor->file), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at).read(before.data(), static_cast<std::streamsize>(before.size()));
    file.seekp(at).write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    test::expect_error(Code::kCheckpoint, parts, [&] { load_local(checkpoint, 0, 1); });
    file.seekp(at).write(before.data(), static_cast<std::streamsize>(before.size())).flush();
    EXPECT_NO_THROW(load_local(checkpoint, 0, 1));
  }
};

TEST_F(LoadingBadValues, RefusesANaNScale) {
  expect_refused("layers.3.attn.wq_b.scale", 5, "\xff", {"layers.3.attn.wq_b.scale", "[5, 0]", "NaN"});
}

TEST_F(LoadingBadValues, RefusesANaNFp8Weight) {
  expect_refused("layers.1.attn.wo_b.weight", 1024 * 3 + 17, "\x7f", {"layers.1.attn.wo_b.weight", "[3, 17]"});
  expect_refused("layers.1.attn.wo_b.weight", 0, "\xff", {"layers.1.attn.wo_b.weight", "[0, 0]"});
}

TEST_F(LoadingBadValues, RefusesAnInfiniteFloat) {
  expect_refused("layers.0.attn.attn_sink", 7, std::string_view("\0\0\x80\xff", 4), {"attn_sink", "[7]"});
}

TEST_F(LoadingBadValues, RefusesANaNBf16) {
  expect_refused("norm.weight", 255, "\xc1\x7f", {"norm.weight", "[255]"});
}

TEST_F(LoadingBadValues, ChecksDraftBlocksToo) {
  expect_refused("mtp.0.e_proj.weight", 1, "\x7f", {"mtp.0.e_proj.weight", "[0, 1]"});
}

TEST_F(LoadingBadValues, RefusesAnExpertThatDoesNotExist) {
  expect_refused("layers.2.ffn.gate.tid2eid", 4, std::string_view("\x08\0\0\0\0\0\0\0", 8),
                 {"layers.2.ffn.gate.tid2eid", "[1, 1] is 8", "from 0 to 7"});
  expect_refused("layers.2.ffn.gate.tid2eid", 0, "\xff\xff\xff\xff\xff\xff\xff\xff", {"[0, 0] is -1"});
}

TEST_F(LoadingBadValues, RefusesAnExpertTwiceForOneToken) {
  const std::string three("\3\0\0\0\0\0\0\0", 8);
  expect_refused("layers.2.ffn.gate.tid2eid", 3, three + three + std::string("\4\0\0\0\0\0\0\0", 8), {"[1, 1] is 3"});
}

}  // namespace
}  // namespace octet
