// The arms of octet ab, and the fault that a test may plant in one.
#include "options/ab_arms.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "options/arm_fault.h"
#include "options/resolve.h"

namespace octet {
namespace {

std::string refusal(const std::string& text, int64_t graph_cap = 0) {
  try {
    parse_arms(text, graph_cap);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage) << text;
    return e.what();
  }
  return "";
}

void expect_refusal(const std::string& text, const std::string& part, int64_t graph_cap = 0) {
  EXPECT_NE(refusal(text, graph_cap).find(part), std::string::npos) << text << ": " << refusal(text, graph_cap);
}

TEST(Arms, HaveTheirFlagsAndDefaultsForTheRest) {
  const std::vector<Arm> arms = parse_arms("control:;int8:ar_int8=true,ar-int8-min-tokens=7;fold:mhc_post_sqrsum", 0);
  const std::vector<Arm> expected = {{.name = "control"},
                                     {.name = "int8", .campaign = {.ar_int8 = true, .ar_int8_min_tokens = 7}},
                                     {.name = "fold", .campaign = {.mhc_post_sqrsum = true}}};
  EXPECT_EQ(arms, expected);
  EXPECT_EQ(parse_arms("control:\n int8:ar_int8=1,ar_int8_min_tokens=7 \tfold:mhc-post-sqrsum=true ", 0), expected);
}

TEST(Arms, ControlIsPutFirstWhenNobodyIsCalledSo) {
  const Arm control{.name = "control"};
  EXPECT_EQ(parse_arms("", 0), std::vector{control});
  EXPECT_EQ(parse_arms("a b:", 0), (std::vector<Arm>{control, {.name = "a"}, {.name = "b"}}));
  EXPECT_EQ(parse_arms("a;control", 0), (std::vector<Arm>{{.name = "a"}, control})) << "the first is the reference";
}

TEST(Arms, SayWhatIsWrongWithThem) {
  expect_refusal("int8:ar_int", "--arm int8: 'ar_int' is no flag of the campaign; did you mean 'ar_int8'?");
  expect_refusal("int8:mhc-post-sqrsm", "did you mean 'mhc_post_sqrsum'?");
  expect_refusal("a:numerics=exact", "'numerics' is no flag of the campaign");
  expect_refusal("a:ar_int8=maybe", "--arm a: ar_int8 expects true or false, found 'maybe'");
  expect_refusal("a:ar_int8_min_tokens=0", "expects a whole number of at least 1, found '0'");
  expect_refusal("a:ar_int8_min_tokens", "needs a value: ar_int8_min_tokens=N");
  expect_refusal("a:ar_int8,ar-int8=false", "ar_int8 is given more than once");
  expect_refusal("a:;b:;a:", "--arm a: there are two arms of this name");
  expect_refusal("null:", "--arm null");
  expect_refusal(":ar_int8", "expects NAME:FLAG=VALUE");
  expect_refusal("ar_int8=true", "expects NAME:FLAG=VALUE");
}

TEST(Arms, ContradictionsNameTheArm) {
  expect_refusal("s:mhc_prenorm_shard", "--arm s: --mhc-prenorm-shard needs --mhc-post-sqrsum");
  expect_refusal("i:ar_int8,ar_int8_min_tokens=96", "--arm i: --ar-int8", 96);
  EXPECT_EQ(refusal("i:ar_int8,ar_int8_min_tokens=97", 96), "");
}

TEST(ArmFault, IsSlowOrWrong) {
  const ArmFault slow = parse_arm_fault("int8=slow:30");
  EXPECT_EQ(slow.arm, "int8");
  EXPECT_DOUBLE_EQ(slow.slow, 0.3);
  EXPECT_FALSE(slow.fault);
  const ArmFault wrong = parse_arm_fault("b=double_reduce:1.ffn");
  EXPECT_EQ(wrong.slow, 0);
  ASSERT_TRUE(wrong.fault);
  EXPECT_EQ(wrong.fault->kind, TestFault::Kind::kDoubleReduce);
  for (const char* bad : {"", "int8", "=slow:3", "a=slow:", "a=slow:0", "a=slow:-3", "a=slow:3x", "a=fast:3"}) {
    EXPECT_THROW(parse_arm_fault(bad), Error) << bad;
  }
}

TEST(Lists, OfNumbersAreReadAndShown) {
  const std::vector<Setting> needed = {{"mode", "prefill", Origin::kFlag, "--mode"},
                                       {"model", "m", Origin::kFlag, "--model"}};
  const auto lengths = [&](const std::string& text) {
    std::vector<Setting> settings = needed;
    settings.push_back({"lengths", text, Origin::kFlag, "--lengths"});
    return resolve_options(Command::kAb, settings).options.ab.lengths;
  };
  EXPECT_EQ(lengths("256,1024"), (std::vector<int64_t>{256, 1024}));
  EXPECT_EQ(lengths("7"), std::vector<int64_t>{7});
  for (const char* bad : {"", ",", "1,", ",1", "1,,2", "1,x", "0", "1, 2"}) EXPECT_THROW(lengths(bad), Error) << bad;
  const Options options = resolve_options(Command::kAb, needed).options;
  EXPECT_NE(describe_options(Command::kAb, options).find("lengths = 256,1024\n"), std::string::npos);
}

}  // namespace
}  // namespace octet
