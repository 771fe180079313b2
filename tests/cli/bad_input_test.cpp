// Broken checkpoints and prompt files through the real program: what breaks the run gives one message and its code,
// what breaks a line gives a row with an error.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/test_files.h"

namespace octet::test {
namespace {

const std::string kShard = "model-00003-of-00008.safetensors";

/// The trained model with links for files, so that one of them can be replaced; and a prompt file beside it.
class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.file("model"));
    for (const auto& entry : std::filesystem::directory_iterator(data_path("tiny-words"))) {
      std::filesystem::create_symlink(entry.path(), model_file(entry.path().filename().string()));
    }
    write_file(folder_.file("in.jsonl"), kGoodLine);
  }

  std::string model_file(const std::string& name) const { return folder_.file("model/" + name); }
  /// Replaces a link by a file of its own.
  void replace(const std::string& name, const std::string& bytes) const {
    std::filesystem::remove(model_file(name));
    write_file(model_file(name), bytes);
  }
  /// Generates on two ranks.
  Outcome generate(const std::string& more = "") const {
    return octet_on(2, "generate -m " + folder_.file("model") + " -i " + folder_.file("in.jsonl") + " -o " + out_ +
                           " --max-tokens 2 -q " + more);
  }
  void expect_one_message(const Outcome& outcome, int code, const std::string& part) const {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    ASSERT_EQ(messages(outcome).size(), 1u) << outcome.err;
    EXPECT_NE(messages(outcome)[0].find(part), std::string::npos) << messages(outcome)[0];
    EXPECT_FALSE(std::filesystem::exists(out_));
  }

  const std::string kGoodLine = "{\"id\": \"good\", \"prompt\": \"Question: 1 + 1?\\nAnswer:\"}\n";
  TempFolder folder_;
  std::string out_ = folder_.file("out.jsonl");
};

TEST_F(BadInput, AMissingShardIsNamed) {
  std::filesystem::remove(model_file(kShard));
  expect_one_message(generate(), 5, kShard);
}

TEST_F(BadInput, ATruncatedShardIsNamed) {
  const std::string bytes = read_file(model_file(kShard));
  replace(kShard, bytes.substr(0, bytes.size() - 100));
  expect_one_message(generate(), 5, kShard);
}

TEST_F(BadInput, AWrongDtypeNamesTensorExpectedAndFound) {
  std::string bytes = read_file(model_file(kShard));
  const size_t at = bytes.find("\"F32\"", bytes.find("layers.1.attn.attn_sink"));
  replace(kShard, bytes.replace(at, 5, "\"I32\""));
  const Outcome outcome = generate();
  expect_one_message(outcome, 5, "layers.1.attn.attn_sink");
  EXPECT_NE(messages(outcome).at(0).find("F32"), std::string::npos);
  EXPECT_NE(messages(outcome).at(0).find("I32"), std::string::npos);
}

TEST_F(BadInput, AWrongShapeNamesTheTensor) {
  std::string bytes = read_file(model_file(kShard));
  const size_t at = bytes.find("[24,1024]", bytes.find("layers.1.hc_attn_fn"));
  replace(kShard, bytes.replace(at, 9, "[1024,24]"));
  expect_one_message(generate(), 5, "layers.1.hc_attn_fn");
}

TEST_F(BadInput, AnUnknownTensorIsNamed) {
  std::string bytes = read_file(model_file(kShard));
  replace(kShard, bytes.replace(bytes.find("attn_sink"), 9, "attn_sunk"));
  expect_one_message(generate(), 5, "layers.1.attn.attn_s");
}

TEST_F(BadInput, ANotANumberScaleIsFoundWhileLoading) {
  std::string bytes = read_file(model_file(kShard));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const size_t offset = bytes.find("data_offsets\":[", bytes.find("F8_E8M0")) + 15;
  bytes[8 + header_bytes + std::stoul(bytes.substr(offset))] = '\xff';
  replace(kShard, bytes);
  expect_one_message(generate(), 5, "scale");
}

TEST_F(BadInput, ABadConfigNamesTheField) {
  std::string config = read_file(model_file("config.json"));
  replace("config.json", config.replace(config.find("\"hidden_size\""), 13, "\"hidden_sice\""));
  expect_one_message(generate(), 5, "hidden_size");
}

TEST_F(BadInput, ABadLineIsARowWithAnErrorAndCodeThree) {
  write_file(folder_.file("in.jsonl"), "{\"prompt\": \n" + kGoodLine);
  const Outcome outcome = generate();
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  const std::string rows = read_file(out_);
  EXPECT_LT(rows.find("\"invalid_json\""), rows.find("\"good\"")) << rows;
}

TEST_F(BadInput, APromptBeyondTheLimitIsARowWithAnError) {
  const Outcome outcome = generate("--max-seq-len 5");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(read_file(out_).find("context_length_exceeded"), std::string::npos);
}

TEST_F(BadInput, AnExistingOutputIsKeptUnlessForced) {
  write_file(out_, "kept\n");
  EXPECT_EQ(generate().code, 2);
  EXPECT_EQ(read_file(out_), "kept\n");
  EXPECT_EQ(generate("--force").code, 0);
  EXPECT_NE(read_file(out_), "kept\n");
}

TEST_F(BadInput, OneRankWithoutALauncherWorks) {
  const Outcome outcome = octet_alone("generate -m " + folder_.file("model") + " -i " + folder_.file("in.jsonl") +
                                      " -o " + out_ + " --max-tokens 2");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("mpirun -np 8"), std::string::npos);
  EXPECT_NE(read_file(out_).find("\"good\""), std::string::npos);
}

}  // namespace
}  // namespace octet::test
