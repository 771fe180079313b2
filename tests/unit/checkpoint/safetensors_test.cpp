// The safetensors container: what is written is read back, and headers that lie are refused.
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

std::string file_of(std::string_view json, size_t data_bytes) {
  const uint64_t length = json.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + std::string(json) + std::string(data_bytes, 'd');
}

/// The header is refused with a message that holds `parts`.
void expect_refused(std::string_view json, int64_t data_bytes, std::initializer_list<std::string_view> parts) {
  test::expect_error(Code::kCheckpoint, parts, [&] { parse_safetensors_header(json, data_bytes, "x.safetensors"); });
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const test::TempFolder folder;
  const std::vector<TensorDeclaration> tensors = {
      {"b", DType::kF32, {2, 2}}, {"a", DType::kBf16, {3}}, {"none", DType::kI8, {0, 5}}, {"one", DType::kI64, {}}};
  const std::vector<std::pair<std::string, std::string>> metadata = {{"format", "pt"}};
  SafetensorsWriter writer(folder.file("x"), tensors, metadata);
  writer.write(std::span<const float>(std::array<float, 4>{1, 2, 3, 4}));
  writer.write(std::span<const uint16_t>(std::array<uint16_t, 2>{5, 6}));
  writer.write(std::span<const uint16_t>(std::array<uint16_t, 1>{7}));
  writer.write(std::span<const int64_t>(std::array<int64_t, 1>{8}));
  writer.close();

  const SafetensorsHeader header = read_safetensors_header(folder.file("x"));
  ASSERT_EQ(header.entries.size(), 4u);
  EXPECT_EQ(header.metadata, metadata);
  EXPECT_EQ(header.entries[0].tensor.name, "b");
  EXPECT_EQ(header.entries[0].tensor.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(header.entries[0].offset % 8, 0);
  EXPECT_EQ(header.entries[1].bytes, 6);
  EXPECT_EQ(header.entries[3].tensor.name, "one");
  const std::string bytes = test::read_file(folder.file("x"));
  int64_t one = 0;
  std::memcpy(&one, bytes.data() + header.entries[3].offset, 8);
  EXPECT_EQ(one, 8);
}

TEST(SafetensorsWriter, LeavesNothingWhenItIsNotClosed) {
  const test::TempFolder folder;
  {
    const std::vector<TensorDeclaration> tensors = {{"a", DType::kI8, {4}}};
    SafetensorsWriter writer(folder.file("x"), tensors);
    test::expect_error(Code::kInternal, {"before all declared bytes"}, [&] { writer.close(); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, RefusesMoreBytesThanDeclared) {
  const test::TempFolder folder;
  const std::vector<TensorDeclaration> tensors = {{"a", DType::kI8, {4}}};
  SafetensorsWriter writer(folder.file("x"), tensors);
  const std::vector<std::byte> five(5);
  test::expect_error(Code::kInternal, {"more tensor bytes"}, [&] { writer.write(std::span<const std::byte>(five)); });
}

TEST(SafetensorsWriter, RefusesAFolderThatDoesNotExist) {
  test::expect_error(Code::kUsage, {"/nowhere/x", "cannot create"}, [] { SafetensorsWriter("/nowhere/x", {}); });
}

TEST(SafetensorsHeader, RefusesAMissingFile) {
  test::expect_error(Code::kCheckpoint, {"/nowhere/x", "No such file"}, [] { read_safetensors_header("/nowhere/x"); });
}

TEST(SafetensorsHeader, RefusesAFileShorterThanItsHeader) {
  const test::TempFolder folder;
  test::write_file(folder.file("short"), "1234567");
  test::write_file(folder.file("cut"),
                   file_of(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 0).substr(0, 20));
  test::expect_error(Code::kCheckpoint, {"short", "truncated: 7 bytes"},
                     [&] { read_safetensors_header(folder.file("short")); });
  test::expect_error(Code::kCheckpoint, {"cut", "truncated: 20 bytes"},
                     [&] { read_safetensors_header(folder.file("cut")); });
}

TEST(SafetensorsHeader, RefusesAHeaderLengthBeyondTheLimit) {
  const test::TempFolder folder;
  test::write_file(folder.file("x"), "this is no safetensors file");
  test::expect_error(Code::kCheckpoint, {"is this a safetensors file?"},
                     [&] { read_safetensors_header(folder.file("x")); });
}

TEST(SafetensorsHeader, RefusesTextThatIsNotAnObject) {
  expect_refused("{", 0, {"x.safetensors", "invalid JSON"});
  expect_refused("[]", 0, {"the header is not an object"});
  expect_refused(R"({"a":{},"a":{}})", 0, {"\"a\" twice"});
  expect_refused(R"({"a":3})", 0, {"tensor a", "not an object"});
  expect_refused(R"({"__metadata__":3})", 0, {"__metadata__"});
}

TEST(SafetensorsHeader, RefusesAnUnknownDtype) {
  expect_refused(R"({"a":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}})", 1, {"tensor a", "F8_E5M2"});
  expect_refused(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, {"tensor a", "dtype is missing"});
}

TEST(SafetensorsHeader, RefusesAShapeThatDisagreesWithItsRange) {
  expect_refused(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 20,
                 {"tensor a", "F32 [2, 3] takes 24 bytes", "20"});
}

TEST(SafetensorsHeader, RefusesImpossibleShapes) {
  expect_refused(R"({"a":{"dtype":"I8","shape":[-1],"data_offsets":[0,1]}})", 1, {"tensor a", "shape"});
  expect_refused(R"({"a":{"dtype":"I8","shape":[1.5],"data_offsets":[0,1]}})", 1, {"tensor a", "shape"});
  expect_refused(R"({"a":{"dtype":"I8","shape":"1","data_offsets":[0,1]}})", 1, {"tensor a", "shape"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,1]}})", 1,
                 {"tensor a", "impossible shape"});
}

TEST(SafetensorsHeader, RefusesARangeOutsideTheFile) {
  expect_refused(R"({"a":{"dtype":"I8","shape":[9],"data_offsets":[0,9]}})", 8, {"tensor a", "outside", "8 bytes"});
  expect_refused(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[2,1]}})", 8, {"tensor a", "outside"});
  expect_refused(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[1]}})", 8, {"tensor a", "pair of offsets"});
}

TEST(SafetensorsHeader, RefusesOverlapsGapsAndTrailingBytes) {
  constexpr const char* kFirst = R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},)";
  const std::string overlap = std::string(kFirst) + R"("b":{"dtype":"I8","shape":[4],"data_offsets":[3,7]}})";
  const std::string gap = std::string(kFirst) + R"("b":{"dtype":"I8","shape":[2],"data_offsets":[5,7]}})";
  const std::string whole = std::string(kFirst) + R"("b":{"dtype":"I8","shape":[3],"data_offsets":[4,7]}})";
  expect_refused(overlap, 7, {"tensor b", "overlaps"});
  expect_refused(gap, 7, {"tensor b", "unused"});
  expect_refused(whole, 8, {"take 7 bytes", "8 bytes"});
  EXPECT_EQ(parse_safetensors_header(whole, 7, "x").entries.size(), 2u);
}

TEST(SafetensorsHeader, SurvivesRandomDamage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::vector<TensorDeclaration> tensors = {{"a", DType::kF32, {2, 2}}, {"b", DType::kF8E8m0, {16}}};
  const std::string good = safetensors_prefix(tensors).substr(8);
  constexpr std::string_view kLikely = "{}[]\",:-0123456789eE.\\u";
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (auto edits = random() % 4 + 1; edits > 0 && !bad.empty(); --edits) {
      const size_t at = random() % bad.size();
      const char c = random() % 2 == 0 ? kLikely[random() % kLikely.size()] : static_cast<char>(random());
      if (random() % 4 == 0)
        bad.erase(at, random() % 8);
      else
        bad[at] = c;
    }
    try {
      const SafetensorsHeader header = parse_safetensors_header(bad, 32, "x");
      for (const SafetensorsEntry& e : header.entries) ASSERT_LE(e.offset + e.bytes, header.file_bytes) << bad;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kCheckpoint) << bad;
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace octet
