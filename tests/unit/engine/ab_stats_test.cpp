// The statistics and the verdicts of octet ab, on figures whose answers are known.
#include "engine/ab_stats.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "engine/ab_measure.h"
#include "engine/ab_report.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

TEST(StudentT, HasTheTabulatedQuantiles) {
  EXPECT_NEAR(student_t95(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t95(9), 2.262, 1e-3);
  EXPECT_NEAR(student_t95(20), 2.086, 1e-3);
  EXPECT_NEAR(student_t95(30), 2.042, 1e-3);
  EXPECT_NEAR(student_t95(100), 1.984, 1e-3);
}

TEST(MeanInterval, IsStudents) {
  const Estimate e = mean_ci95(std::array{1.0, 2.0, 3.0, 4.0, 5.0});
  EXPECT_DOUBLE_EQ(e.mean, 3);
  EXPECT_NEAR(e.high - e.mean, 2.776 * std::sqrt(2.5 / 5), 1e-3);
  EXPECT_TRUE(std::isnan(mean_ci95(std::array{1.0}).low));
  EXPECT_TRUE(std::isnan(mean_ci95({}).mean));
}

TEST(TrimmedInterval, LeavesOutTheOutermostFifths) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1000};
  const Estimate e = trimmed_ci95(values);
  EXPECT_DOUBLE_EQ(e.mean, 5.5);  // of 3 to 8
  EXPECT_LT(e.high, 12);
  values[9] = 10;
  EXPECT_EQ(trimmed_ci95(values).high, e.high) << "what is trimmed does not count";
}

TEST(TrimmedInterval, HoldsTheTruthNineteenTimesOfTwenty) {
  Random random(5);
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 10; ++k) values.push_back(1 + random.normal());
    const Estimate e = trimmed_ci95(values);
    held += e.low <= 1 && 1 <= e.high ? 1 : 0;
  }
  EXPECT_GT(held, 1850);
  EXPECT_LT(held, 1960);
}

TEST(PairedChange, IsARatioThatDriftLeavesAlone) {
  std::vector<double> reference, arm;
  for (int i = 0; i < 10; ++i) {
    reference.push_back(100 + 50 * i);  // the machine slows down
    arm.push_back(reference.back() * 0.96);
  }
  const Estimate e = change_of_pairs(reference, arm);
  EXPECT_NEAR(e.mean, -0.04, 1e-9);
  EXPECT_NEAR(e.high - e.low, 0, 1e-9);
}

TEST(ArmOrder, IsMirroredInEverySecondRepetition) {
  EXPECT_EQ(arm_order(3, 0), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(arm_order(3, 1), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(arm_order(3, 2), arm_order(3, 0));
}

TEST(RandomPrompt, IsTheSameForAllArmsAndDiffersAtTokenZeroBetweenRepetitions) {
  std::set<TokenId> first;
  for (int64_t n = 0; n < 50; ++n) {
    const auto prompt = random_prompt(3, n, 20, 512);
    EXPECT_EQ(prompt, random_prompt(3, n, 20, 512));
    for (const TokenId token : prompt) EXPECT_TRUE(token >= 0 && token < 512);
    first.insert(prompt[0]);
  }
  EXPECT_EQ(first.size(), 50u);
  EXPECT_NE(random_prompt(3, 0, 20, 512), random_prompt(4, 0, 20, 512));
}

TEST(LogitsChange, OfTheSameAndOfShiftedLogitsIsNothing) {
  const std::vector<float> a = {1, 5, 2, 0}, shifted = {3, 7, 4, 2}, swapped = {5, 1, 2, 0};
  for (const auto& other : {a, shifted}) {
    const LogitsChange change = compare_logits(a, other);
    EXPECT_TRUE(change.same_top);
    EXPECT_NEAR(change.kl, 0, 1e-12);
    EXPECT_NEAR(change.shift, 0, 1e-6);
    EXPECT_NEAR(change.margin_shift, 0, 1e-6);
  }
  const LogitsChange change = compare_logits(a, swapped);
  EXPECT_FALSE(change.same_top);
  // Two distributions that swap p and q: KL = (p - q) ln(p / q), ln(p / q) = 4.
  double sum = 0;
  for (const float x : a) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(change.kl, 4 * (std::exp(5.0) - std::exp(1.0)) / sum, 1e-6);
  EXPECT_NEAR(change.margin_shift, (1 - 2) - (5 - 2), 1e-6);
  EXPECT_FALSE(compare_logits(a, std::vector<float>{1, 5, NAN, 0}).finite);
}

/// A prefill of ten repetitions in which each arm takes `factor` times the control's time, with small noise.
AbResult result_of(const std::vector<std::pair<std::string, double>>& arms, double null_factor, double kl = 0) {
  Random random(9);
  AbResult result{.mode = AbMode::kPrefill, .plain_path = "bf16", .names = {"control"}, .cases = {}};
  AbCase one{.title = "case"};
  const auto add = [&](double factor, double own_kl) {
    ArmRecord& record = one.arms.emplace_back();
    for (int i = 0; i < 10; ++i) {
      record.ttft_ms.push_back((100 + 10 * i) * factor * (1 + 0.002 * random.normal()));
      record.results.push_back({{.kl = own_kl, .shift = own_kl}});
    }
    record.counts.int8_sums = own_kl > 0 ? 1 : 0;
  };
  add(1, 0);
  for (const auto& [name, factor] : arms) {
    result.names.push_back(name);
    add(factor, kl);
  }
  result.names.emplace_back("null");
  add(null_factor, 0);
  result.cases.push_back(one);
  return result;
}

TEST(Verdict, NamesWhatIsFasterSlowerAndAlike) {
  const auto text = verdict(result_of({{"quick", 0.9}, {"slow", 1.3}, {"same", 1}}, 1));
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(" % faster than control (95 % CI"), text->npos) << *text;
  EXPECT_NE(text->find("slow is 30 % slower than control"), text->npos) << *text;
  EXPECT_NE(text->find("same: no difference from control above 1.0 %"), text->npos) << *text;
}

TEST(Verdict, IsWithheldWhenTheNullArmFails) {
  const AbResult result = result_of({{"quick", 0.9}}, 1.03);
  EXPECT_FALSE(verdict(result));
  const Json json = ab_json(result);
  EXPECT_TRUE(json.find("verdict")->is(Json::Kind::kNull));
  EXPECT_EQ(json.find("null")->find("pass")->dump(), "false");
  EXPECT_NE(ab_table(result).find("verdict: none"), std::string::npos);
}

TEST(Verdict, NamesNoChangeThatTheNullArmMightHaveToo) {
  AbResult result = result_of({{"quick", 0.97}}, 1);
  std::vector<double>& null_times = result.cases[0].arms.back().ttft_ms;
  for (size_t i = 0; i < null_times.size(); ++i) null_times[i] *= i % 2 == 0 ? 1.1 : 0.9;  // a restless machine
  const auto text = verdict(result);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("quick: no difference from control above"), text->npos) << *text;
}

TEST(Verdict, NamesAnArmWhoseResultsAreWrong) {
  const AbResult result = result_of({{"broken", 0.7}}, 1, 0.9);
  EXPECT_NE(verdict(result)->find("broken gives wrong results"), std::string::npos) << *verdict(result);
  EXPECT_EQ(wrong_arms(result), std::vector<std::string>{"broken"});
  EXPECT_TRUE(wrong_arms(result_of({{"int8", 0.9}}, 1, 0.1)).empty());
  AbResult plain = result_of({{"fused", 0.9}}, 1, 0.1);
  plain.cases[0].arms[1].counts = {};
  EXPECT_EQ(wrong_arms(plain), std::vector<std::string>{"fused"}) << "without int8 the bits are the same";
  AbResult faulty = result_of({{"x", 1}}, 1);
  faulty.faults = {"", "self-check: a sum is missing", ""};
  EXPECT_NE(verdict(faulty)->find("x gives wrong results: self-check: a sum is missing"), std::string::npos);
}

TEST(Json, HasTheKeysThatOthersRead) {
  const Json json = ab_json(result_of({{"quick", 0.9}}, 1));
  const Json& arm = json.find("arms")->items.at(1);
  EXPECT_EQ(arm.find("name")->text, "quick");
  EXPECT_EQ(arm.find("path")->text, "bf16");
  EXPECT_EQ(arm.find("ttft_ms")->items.size(), 10u);
  const Json& compare = json.find("compare")->items.at(0);
  EXPECT_EQ(compare.find("arm")->text, "quick");
  EXPECT_NEAR(compare.find("ttft_delta")->as_double().value_or(0), -0.1, 0.005);
  EXPECT_EQ(compare.find("ttft_ci95")->items.size(), 2u);
  EXPECT_EQ(json.find("null")->find("ci95")->items.size(), 2u);
}

TEST(Path, TellsWhatRan) {
  EXPECT_EQ(path_text({.sums = 12}, "bf16"), "bf16");
  EXPECT_EQ(path_text({.sums = 12, .int8_sums = 12, .folded_posts = 11, .shared_mixes = 10}, "bf16"),
            "int8 12/12, fold 11, shard 10");
}

}  // namespace
}  // namespace octet::test
