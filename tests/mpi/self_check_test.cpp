// The three checks that must notice a broken sum, each on its own: the gate of powers of two, the counting pass, the
// replica audit. A missing sum is seen by all three, a doubled one by the first two (replicas stay equal), a damaged
// replica by the audit.
#include "runtime/self_check.h"

#include <gtest/gtest.h>

#include "comm/replica_audit.h"
#include "kernels/cpu/context.h"
#include "runtime/runner.h"
#include "tests/mpi/layer_case.h"

namespace octet::test {
namespace {

constexpr Site kSite{1, Site::Kind::kFfn};
const CampaignOptions kForms[] = {{}, {.ar_int8 = true, .ar_int8_min_tokens = 1}};

std::optional<TestFault> fault_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(parse_test_fault(text));
}

std::optional<GateFinding> gate(const CampaignOptions& campaign, const std::string& fault) {
  RankContext rank;
  rank.ctx.campaign = campaign;
  rank.ctx.fault = fault_of(fault);
  return check_sum_of_powers<cpu::Context, bf16>(rank.ctx, 96, kSite);
}

TEST(Gate, GivesTheExactSumOfPowersInBothForms) {
  for (const CampaignOptions& form : kForms) {
    EXPECT_FALSE(gate(form, "").has_value());
    EXPECT_FALSE(gate(form, "skip_reduce:0.ffn").has_value()) << "another site";
  }
}

TEST(Gate, SeesAMissingAndADoubledSum) {
  if (session().size() == 1) GTEST_SKIP() << "one rank has no sum to miss";
  const auto R = static_cast<float>(session().size());
  const float all = std::ldexp(1.0f, session().size()) - 1, own = std::ldexp(1.0f, session().rank());
  for (const CampaignOptions& form : kForms) {
    const float unit = form.ar_int8 ? 127 : 1;
    const auto missing = gate(form, "skip_reduce:1.ffn"), doubled = gate(form, "double_reduce:1.ffn");
    ASSERT_TRUE(missing && doubled);
    EXPECT_EQ(missing->expected, unit * all);  // 255 and 32385 on 8 ranks
    EXPECT_EQ(missing->found, unit * own);
    EXPECT_EQ(doubled->found, unit * R * all);
    EXPECT_NE(gate_sentence(*missing, unit * own, session().size()).find("missing"), std::string::npos);
    const std::string twice = gate_sentence(*doubled, unit * own, session().size());
    EXPECT_NE(twice.find("twice"), std::string::npos);
    EXPECT_NE(twice.find("layer 1, ffn"), std::string::npos);
    EXPECT_NE(twice.find(form.ar_int8 ? "(int8)" : "(rows)"), std::string::npos);
  }
}

/// A layer's worth of sums: reduces once at each of four sites.
std::optional<Site> count(const CampaignOptions& campaign, const std::string& fault) {
  RankContext rank;
  rank.ctx.campaign = campaign;
  rank.ctx.fault = fault_of(fault);
  const std::vector<Site> sites = {site_at(0), site_at(1), site_at(2), site_at(3)};
  for (const Site& site : sites) check_sum_of_powers<cpu::Context, bf16>(rank.ctx, 32, site);
  return check_reduction_count(rank.ctx, sites, 1);
}

TEST(CountingPass, SeesAMissingAndADoubledSum) {
  if (session().size() == 1) GTEST_SKIP() << "one rank has no sum to miss";
  for (const CampaignOptions& form : kForms) {
    EXPECT_FALSE(count(form, "").has_value());
    EXPECT_EQ(count(form, "skip_reduce:1.attn"), (Site{1, Site::Kind::kAttn}));
    EXPECT_EQ(count(form, "double_reduce:0.ffn"), (Site{0, Site::Kind::kFfn}));
  }
}

/// The sentence of the audit, empty when it is silent. Random shares, so that no sum equals a share.
std::string audit(const CampaignOptions& campaign, const std::string& fault) {
  RankContext rank;
  rank.ctx.campaign = campaign;
  rank.ctx.fault = fault_of(fault);
  rank.ctx.audit_replicas = true;
  try {
    check_sum_of_powers<cpu::Context, bf16>(rank.ctx, 96, kSite);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kSelfCheck);
    return e.what();
  }
  return "";
}

TEST(ReplicaAudit, SeesAMissingSumAndADamagedReplicaAndNotADoubledSum) {
  if (session().size() == 1) GTEST_SKIP() << "one rank has no replicas";
  const int last = session().size() - 1;
  for (const CampaignOptions& form : kForms) {
    EXPECT_EQ(audit(form, ""), "");
    EXPECT_EQ(audit(form, "double_reduce:1.ffn"), "");
    EXPECT_NE(audit(form, "skip_reduce:1.ffn"), "");
    const std::string damaged = audit(form, "corrupt_replica:1.ffn@" + std::to_string(last));
    const std::string who = session().size() == 2 ? "rank 1 of 2" : "rank " + std::to_string(last);
    for (const std::string& part : {std::string("layer 1, ffn"), std::string(form.ar_int8 ? "int8" : "rows"), who}) {
      EXPECT_NE(damaged.find(part), std::string::npos) << part << " in: " << damaged;
    }
  }
}

/// The sentence of a runner's start; empty when it starts.
std::string start(const CampaignOptions& campaign, const std::string& fault) {
  RunnerSetup setup;
  setup.model_dir = shared_model().folder;
  setup.config = shared_model().config;
  setup.run.model = setup.model_dir;
  setup.run.campaign = campaign;
  setup.capacity = {.slots = 1, .pages = 1, .max_seq_len = 64};
  setup.session = &session();
  if (!fault.empty()) setenv("OCTET_TEST_FAULT", fault.c_str(), 1);
  std::string sentence;
  try {
    make_cpu_runner(setup);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kSelfCheck);
    sentence = e.what();
  }
  unsetenv("OCTET_TEST_FAULT");
  return sentence;
}

TEST(SelfCheck, StopsARunnerAtItsStart) {
  const CampaignOptions all{.ar_int8 = true, .mhc_post_sqrsum = true, .mhc_prenorm_shard = true};
  for (const CampaignOptions& campaign : {CampaignOptions{}, all}) {
    EXPECT_EQ(start(campaign, ""), "");
    if (session().size() == 1) continue;
    for (const std::string fault : {"skip_reduce:0.attn", "double_reduce:5.ffn", "corrupt_replica:2.ffn@1"}) {
      EXPECT_NE(start(campaign, fault).find("self-check: the sum at layer"), std::string::npos) << fault;
    }
  }
}

TEST(ProbeBounds, RefuseNoiseAndShiftsBeyondThem) {
  const std::vector<float> plain = {1, 2, 3, 4}, near = {1.1f, 2, 3, 4}, far = {4, 3, 2, 1};
  const CampaignOptions fold{.mhc_post_sqrsum = true}, int8{.ar_int8 = true};
  EXPECT_NO_THROW(check_probe(fold, plain, plain, {}));
  EXPECT_THROW(check_probe(fold, plain, near, {}), Error);
  EXPECT_NO_THROW(check_probe(int8, plain, near, {}));
  EXPECT_THROW(check_probe(int8, plain, far, {}), Error);
  EXPECT_THROW(check_probe(int8, plain, std::vector<float>(4, NAN), {}), Error);
  HealthBySite health;
  health.at(kSite) = {.sums = 1, .signal = 1000, .noise = 0.4};  // 34 dB
  EXPECT_NO_THROW(check_probe(int8, plain, plain, health));
  health.at(kSite).noise = 0.6;  // 32 dB
  EXPECT_THROW(check_probe(int8, plain, plain, health), Error);
}

}  // namespace
}  // namespace octet::test
