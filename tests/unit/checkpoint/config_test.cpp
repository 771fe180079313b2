// config.json: both releases are read, and everything this program does not implement is refused by name.
#include "model/config.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

Json flash() {
  return parse_json(test::read_file(test::data_path("configs/v4-flash.json")), "v4-flash.json");
}

Json& field(Json& object, std::string_view name) {
  for (auto& [key, value] : object.members) {
    if (key == name) return value;
  }
  return object.set(std::string(name), Json());
}

ModelConfig with(std::string_view name, Json value) {
  Json config = flash();
  field(config, name) = std::move(value);
  return parse_model_config(config.dump(), "config.json");
}

TEST(ModelConfig, ReadsFlash) {
  const ModelConfig c = read_model_config(test::data_path("configs/v4-flash.json"));
  EXPECT_EQ(c.vocab_size, 129280);
  EXPECT_EQ(c.num_hidden_layers, 43);
  EXPECT_EQ(c.compress_ratios.size(), 44u);
  EXPECT_EQ(c.mtp_blocks(), 1);
  EXPECT_FALSE(c.has_dspark());
  EXPECT_EQ(c.hc_mixes(), 24);
  EXPECT_EQ(c.rms_norm_eps, 1e-6);
  EXPECT_EQ(c.compress_rope_theta, 160000);
  EXPECT_EQ(c.yarn_original_max_position, 65536);
}

TEST(ModelConfig, Reads0731WithThreeStagesThoughItsMtpDepthIsOne) {
  const ModelConfig c = read_model_config(test::data_path("configs/v4-flash-0731.json"));
  EXPECT_EQ(c.num_nextn_predict_layers, 1);
  EXPECT_EQ(c.mtp_blocks(), 3);
  EXPECT_TRUE(c.has_dspark());
  EXPECT_EQ(c.dspark_target_layer_ids, (std::vector<int64_t>{40, 41, 42}));
}

TEST(ModelConfig, ReadsEveryTinyConfig) {
  EXPECT_EQ(read_model_config(test::data_path("golden/configs/tiny.json")).mtp_blocks(), 1);
  EXPECT_EQ(read_model_config(test::data_path("golden/configs/tiny-dspark.json")).mtp_blocks(), 3);
  EXPECT_EQ(read_model_config(test::data_path("golden/configs/tiny-l4.json")).mtp_blocks(), 0);
  EXPECT_EQ(read_model_config(test::data_path("golden/configs/tiny-l128.json")).mtp_blocks(), 0);
}

TEST(ModelConfig, AcceptsAnIntegerWrittenAsADecimal) {
  EXPECT_EQ(with("index_topk", 64.0).index_topk, 64);
}

TEST(ModelConfig, RefusesAMissingFile) {
  test::expect_error(Code::kCheckpoint, {"/nowhere/config.json", "No such file"},
                     [] { read_model_config("/nowhere/config.json"); });
}

TEST(ModelConfig, RefusesTextThatIsNotJson) {
  test::expect_error(Code::kCheckpoint, {"config.json", "invalid JSON at byte 2"},
                     [] { parse_model_config("{", "config.json"); });
}

TEST(ModelConfig, RefusesAMissingFieldByName) {
  Json config = flash();
  field(config, "hc_mult") = Json();
  std::erase_if(config.members, [](const auto& member) { return member.first == "hc_mult"; });
  test::expect_error(Code::kCheckpoint, {"config.json", "hc_mult is missing"},
                     [&] { parse_model_config(config.dump(), "config.json"); });
}

TEST(ModelConfig, RefusesAMistypedField) {
  test::expect_error(Code::kCheckpoint, {"head_dim is \"512\"", "integer"}, [] { with("head_dim", "512"); });
}

TEST(ModelConfig, RefusesAnotherModel) {
  test::expect_error(Code::kCheckpoint, {"model_type is \"deepseek_v3\"", "deepseek_v4"},
                     [] { with("model_type", "deepseek_v3"); });
}

TEST(ModelConfig, RefusesWhatIsNotImplemented) {
  test::expect_error(Code::kCheckpoint, {"scoring_func", "sigmoid"}, [] { with("scoring_func", "sigmoid"); });
  test::expect_error(Code::kCheckpoint, {"topk_method", "greedy"}, [] { with("topk_method", "greedy"); });
  test::expect_error(Code::kCheckpoint, {"hidden_act", "gelu"}, [] { with("hidden_act", "gelu"); });
  test::expect_error(Code::kCheckpoint, {"expert_dtype", "fp8"}, [] { with("expert_dtype", "fp8"); });
  test::expect_error(Code::kCheckpoint, {"n_shared_experts is 2"}, [] { with("n_shared_experts", 2); });
  test::expect_error(Code::kCheckpoint, {"attention_bias is true"}, [] { with("attention_bias", true); });
}

TEST(ModelConfig, RefusesAnotherWeightBlockSize) {
  Json config = flash();
  field(field(config, "quantization_config"), "weight_block_size") = Json::array({64, 64});
  test::expect_error(Code::kCheckpoint, {"quantization_config", "weight_block_size is [64,64]", "[128,128]"},
                     [&] { parse_model_config(config.dump(), "config.json"); });
}

TEST(ModelConfig, RefusesAnotherRatio) {
  Json ratios = *flash().find("compress_ratios");
  ratios.items[5] = 16;
  test::expect_error(Code::kCheckpoint, {"compress_ratios[5] is 16", "0, 4 or 128"},
                     [&] { with("compress_ratios", ratios); });
}

TEST(ModelConfig, RefusesARatioListOfTheWrongLength) {
  test::expect_error(Code::kCheckpoint, {"compress_ratios is an array of 44 entries", "45", "2 MTP blocks"},
                     [] { with("num_nextn_predict_layers", 2); });
}

TEST(ModelConfig, RefusesAWidthThatDividesAQuantisationBlock) {
  test::expect_error(Code::kCheckpoint, {"moe_intermediate_size is 2000", "multiple of 128"},
                     [] { with("moe_intermediate_size", 2000); });
}

TEST(CheckRanks, AcceptsTheFourRankCounts) {
  const ModelConfig c = read_model_config(test::data_path("golden/configs/tiny.json"));
  for (const int ranks : {1, 2, 4, 8}) EXPECT_NO_THROW(check_ranks(c, ranks));
}

TEST(CheckRanks, RefusesThreeRanks) {
  const ModelConfig c = read_model_config(test::data_path("configs/v4-flash.json"));
  test::expect_error(Code::kUsage, {"3 ranks", "1, 2, 4 or 8"}, [&] { check_ranks(c, 3); });
}

TEST(CheckRanks, RefusesAnExpertWidthThatCannotBeSplitInWholeBlocks) {
  const ModelConfig c = with("moe_intermediate_size", 512);
  EXPECT_NO_THROW(check_ranks(c, 4));
  test::expect_error(Code::kUsage, {"8 ranks", "moe_intermediate_size is 512", "128"}, [&] { check_ranks(c, 8); });
}

TEST(CheckRanks, RefusesHeadsThatDoNotDivide) {
  ModelConfig c = read_model_config(test::data_path("configs/v4-flash.json"));
  c.num_attention_heads = 12;
  test::expect_error(Code::kUsage, {"8 ranks", "num_attention_heads is 12"}, [&] { check_ranks(c, 8); });
}

}  // namespace
}  // namespace octet
