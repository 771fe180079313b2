// Every seed and every past find of the fuzzers through the same functions, in the ordinary tests.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

struct Target {
  const char* name;
  int (*function)(const uint8_t*, size_t);
};

class FuzzCorpus : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, HoldsNoSurprise) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(OCTET_FUZZ_CORPUS + std::string("/") + GetParam().name)) {
    SCOPED_TRACE(entry.path().string());
    const std::string bytes = test::read_file(entry.path().string());
    EXPECT_EQ(GetParam().function(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0);
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FuzzCorpus,
                         testing::Values(Target{"tokenizer_json", fuzz::tokenizer_json},
                                         Target{"safetensors_header", fuzz::safetensors_header},
                                         Target{"request_line", fuzz::request_line},
                                         Target{"chat_parser", fuzz::chat_parser}),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(FuzzTargetDeathTest, APromiseThatDoesNotHoldEndsTheProcess) {
  EXPECT_DEATH(fuzz::expect(false, "this"), "does not hold: this");
}

}  // namespace
}  // namespace octet
