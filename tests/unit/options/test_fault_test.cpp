// The test-only fault hook: what it reads, and where it strikes.
#include "options/test_fault.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace octet::test {
namespace {

TEST(TestFault, ReadsTheThreeKinds) {
  const TestFault skip = parse_test_fault("skip_reduce:2.attn"), twice = parse_test_fault("double_reduce:10.ffn");
  EXPECT_EQ(skip.kind, TestFault::Kind::kSkipReduce);
  EXPECT_EQ(skip.site, (Site{2, Site::Kind::kAttn}));
  EXPECT_EQ(twice.kind, TestFault::Kind::kDoubleReduce);
  EXPECT_EQ(twice.site, (Site{10, Site::Kind::kFfn}));
  const TestFault corrupt = parse_test_fault("corrupt_replica:0.ffn@7");
  EXPECT_EQ(corrupt.kind, TestFault::Kind::kCorruptReplica);
  EXPECT_EQ(corrupt.site, (Site{0, Site::Kind::kFfn}));
  EXPECT_EQ(corrupt.rank, 7);
}

TEST(TestFault, RefusesEverythingElse) {
  for (const std::string text :
       {"", "skip_reduce", "skip_reduce:", "skip_reduce:2", "skip_reduce:2.mlp", "skip_reduce:x.attn",
        "skip_reduce:-1.attn", "drop:2.attn", "corrupt_replica:2.attn", "corrupt_replica:2.attn@",
        "skip_reduce:2.attn@1", "corrupt_replica:2.attn@x", "corrupt_replica:2.attn@-1", "skip_reduce:2.attn "}) {
    EXPECT_THROW(parse_test_fault(text), Error) << text;
  }
}

TEST(TestFault, StrikesAtItsSiteOnly) {
  const Site site{2, Site::Kind::kAttn}, other{2, Site::Kind::kFfn};
  EXPECT_EQ(reductions_at({}, site), 1);
  EXPECT_EQ(reductions_at(parse_test_fault("skip_reduce:2.attn"), site), 0);
  EXPECT_EQ(reductions_at(parse_test_fault("skip_reduce:2.attn"), other), 1);
  EXPECT_EQ(reductions_at(parse_test_fault("double_reduce:2.attn"), site), 2);
  const auto corrupt = parse_test_fault("corrupt_replica:2.attn@3");
  EXPECT_EQ(reductions_at(corrupt, site), 1);
  EXPECT_TRUE(corrupts_replica(corrupt, site, 3));
  EXPECT_FALSE(corrupts_replica(corrupt, site, 2));
  EXPECT_FALSE(corrupts_replica(corrupt, other, 3));
  EXPECT_FALSE(corrupts_replica(parse_test_fault("skip_reduce:2.attn"), site, 3));
}

TEST(Sites, AreNumberedInTheOrderOfAStep) {
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(site_index(site_at(i)), i);
  EXPECT_EQ(site_text(site_at(7)), "layer 3, ffn");
}

}  // namespace
}  // namespace octet::test
