// Prefixes: who shares one, and that forking it changes no token, leaks no page and is booked once.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine/plan_hash.h"
#include "engine/prefix_groups.h"
#include "engine/scheduler.h"
#include "tests/support/expect_error.h"
#include "tests/support/fake_runner.h"
#include "tests/support/random.h"

namespace octet {
namespace {

using test::Random;

constexpr int64_t kVocab = 60;

std::vector<TokenId> random_tokens(Random& random, int64_t count) {
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(random.integer(2, kVocab - 1)));
  return tokens;
}

std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(PrefixGroups, FindTheFewShotPrefixOfEveryPrompt) {
  Random random(1);
  const std::vector<TokenId> shots = random_tokens(random, 500);
  PrefixGroups groups;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(groups.add(joined(shots, {i % 7 + 2, i + 2})), 0);
  EXPECT_EQ(groups.group(0).length, 500);
  EXPECT_EQ(groups.group(0).members, 40);
}

TEST(PrefixGroups, LeaveAloneWhatSharesLittle) {
  Random random(2);
  PrefixGroups groups;
  const std::vector<TokenId> opening = random_tokens(random, kShortestPrefix - 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(groups.add(joined(opening, random_tokens(random, 100))), i);
}

TEST(PrefixGroups, AreNotShrunkByAPromptThatSharesFarLess) {
  Random random(3);
  const std::vector<TokenId> system = random_tokens(random, 100), shots = joined(system, random_tokens(random, 900));
  PrefixGroups groups;
  for (int i = 0; i < 3; ++i) groups.add(joined(shots, {i + 2, 5}));
  EXPECT_EQ(groups.add(joined(system, random_tokens(random, 50))), 1);
  EXPECT_EQ(groups.add(joined(shots, {9, 9})), 0);
  EXPECT_EQ(groups.group(0).length, 1000);
}

TEST(PrefixGroups, LeaveEveryPromptAToken) {
  Random random(4);
  const std::vector<TokenId> prompt = random_tokens(random, 200);
  PrefixGroups groups;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(groups.add(prompt), 0);
  EXPECT_EQ(groups.group(0).length, 199);
}

Request request_of(int64_t index, std::vector<TokenId> tokens, int64_t max_new_tokens) {
  Request r{.index = index, .tokens = std::move(tokens)};
  r.prompt_tokens = r.prefill_tokens = static_cast<int64_t>(r.tokens.size());
  r.max_new_tokens = max_new_tokens;
  r.ignore_eos = true;
  return r;
}

Request prefix_of(int64_t id, std::vector<TokenId> tokens, int64_t uses) {
  Request r = request_of(-1, std::move(tokens), 0);
  r.prefix_id = id;
  r.prefix_uses = uses;
  return r;
}

struct Outcome {
  std::vector<TokenId> tokens;
  int64_t cached = 0;
};

std::map<int64_t, Outcome> run(const std::vector<Request>& requests, const RunnerCapacity& capacity, int64_t chunk,
                               int64_t prefix_slots) {
  Scheduler scheduler({capacity, chunk, 1, prefix_slots}, nullptr);
  test::FakeRunner runner(capacity, kVocab);
  for (const Request& r : requests) scheduler.add(r);
  std::map<int64_t, Outcome> outcomes;
  while (!scheduler.done()) {
    const BatchPlan plan = scheduler.plan();
    EXPECT_EQ(plan_hash(plan), plan_hash(scheduler.plan()));
    EXPECT_FALSE(plan.segments.empty());
    for (Finished& f : scheduler.commit(plan, runner.step(plan))) outcomes[f.index] = {f.tokens, f.cached_tokens};
  }
  EXPECT_EQ(scheduler.free_pages(), capacity.pages);
  return outcomes;
}

/// Users of a prefix of `length` tokens, some of them through a second prefix that continues the first.
struct Family {
  std::vector<Request> cold, forked;
};

Family family_of(Random& random, int64_t first_index, int64_t first_id, int64_t length) {
  Family family;
  const std::vector<TokenId> shots = random_tokens(random, length);
  const std::vector<TokenId> longer = joined(shots, random_tokens(random, random.integer(1, 900)));
  family.forked.push_back(prefix_of(first_id, shots, 4));
  for (int64_t i = 0; i < 6; ++i) {
    const bool deep = i >= 3;
    if (i == 3) {
      Request second = prefix_of(first_id + 1, longer, 3);
      second.fork = {first_id, length};
      family.forked.push_back(second);
    }
    const std::vector<TokenId>& base = deep ? longer : shots;
    Request r =
        request_of(first_index + i, joined(base, random_tokens(random, random.integer(1, 90))), random.integer(1, 30));
    family.cold.push_back(r);
    r.fork = deep ? PrefixUse{first_id + 1, static_cast<int64_t>(longer.size())} : PrefixUse{first_id, length};
    family.forked.push_back(r);
  }
  return family;
}

TEST(Prefix, GivesTheTokensOfAColdRun) {
  Random random(5);
  Family all;
  for (int64_t i = 0; i < 12; ++i) {
    const int64_t length = i % 3 == 0 ? 1024 * (i % 2 + 1) : random.integer(1, 2500);  // whole pages too
    const Family f = family_of(random, 10 * i, 2 * i, length);
    all.cold.insert(all.cold.end(), f.cold.begin(), f.cold.end());
    all.forked.insert(all.forked.end(), f.forked.begin(), f.forked.end());
  }
  for (const int64_t chunk : {17, 300, 8192}) {
    for (const int64_t batch : {1, 5}) {
      const RunnerCapacity capacity{batch + 2, 7 * (batch + 2), 5000};
      const std::map<int64_t, Outcome> cold = run(all.cold, capacity, chunk, 0);
      const std::map<int64_t, Outcome> forked = run(all.forked, capacity, chunk, 2);
      ASSERT_EQ(cold.size(), forked.size());
      for (const auto& [index, outcome] : cold) EXPECT_EQ(forked.at(index).tokens, outcome.tokens) << index;
    }
  }
}

TEST(Prefix, IsBookedOnTheFirstThatForksIt) {
  Random random(6);
  const std::vector<TokenId> shots = random_tokens(random, 100);
  std::vector<Request> requests = {prefix_of(3, shots, 3)};
  for (int64_t i = 0; i < 3; ++i) {
    requests.push_back(request_of(i, joined(shots, random_tokens(random, 10)), 2));
    requests.back().fork = {3, 100};
  }
  const std::map<int64_t, Outcome> outcomes = run(requests, {3, 3, 5000}, 8192, 1);
  EXPECT_EQ(outcomes.at(0).cached, 0);
  EXPECT_EQ(outcomes.at(1).cached, 100);
  EXPECT_EQ(outcomes.at(2).cached, 100);
}

TEST(Prefix, OfAnotherLengthIsRefused) {
  Random random(7);
  const std::vector<TokenId> shots = random_tokens(random, 100);
  std::vector<Request> requests = {prefix_of(0, shots, 1), request_of(0, joined(shots, {5, 6}), 2)};
  requests[1].fork = {0, 99};
  test::expect_error(Code::kInternal, {"another length"}, [&] { run(requests, {2, 4, 5000}, 8192, 1); });
}

TEST(Prefix, AForkThatForgetsItsPageIsNoticed) {
  Random random(8);
  const std::vector<TokenId> shots = random_tokens(random, 100);
  const RunnerCapacity capacity{3, 4, 5000};
  Scheduler scheduler({capacity, 8192, 1, 1}, nullptr);
  test::FakeRunner runner(capacity, kVocab);
  scheduler.add(prefix_of(0, shots, 1));
  Request user = request_of(0, joined(shots, {5, 6}), 2);
  user.fork = {0, 100};
  scheduler.add(user);
  BatchPlan plan = scheduler.plan();
  scheduler.commit(plan, runner.step(plan));
  plan = scheduler.plan();
  ASSERT_EQ(plan.forks.size(), 1u);
  plan.forks[0].page.reset();
  test::expect_error(Code::kInternal, {"a page is copied that is whole"}, [&] { runner.step(plan); });
}

}  // namespace
}  // namespace octet
