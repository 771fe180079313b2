// The number by which ranks compare their plans.
#include "engine/plan_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace octet {
namespace {

BatchPlan some_plan() {
  BatchPlan plan;
  plan.forks.push_back({.from_slot = 2, .to_slot = 1, .page = std::pair{4, 5}});
  plan.segments.push_back({.slot = 1, .position = 5, .tokens = {7, 8}, .pages = {0}});
  plan.samples.push_back({.row = 1, .draw = true, .params = {}, .counts = {{.id = 7, .generated = 1}}});
  return plan;
}

TEST(PlanHash, IsEqualForEqualPlans) {
  EXPECT_EQ(plan_hash(some_plan()), plan_hash(some_plan()));
}

TEST(PlanHash, SeesEveryField) {
  const std::vector<std::function<void(BatchPlan&)>> changes = {
      [](BatchPlan& p) { p.forks.clear(); },
      [](BatchPlan& p) { p.forks[0].from_slot = 3; },
      [](BatchPlan& p) { p.forks[0].to_slot = 3; },
      [](BatchPlan& p) { p.forks[0].page.reset(); },
      [](BatchPlan& p) { p.forks[0].page->first = 6; },
      [](BatchPlan& p) { p.forks[0].page->second = 6; },
      [](BatchPlan& p) { p.segments[0].slot = 2; },
      [](BatchPlan& p) { p.segments[0].position = 6; },
      [](BatchPlan& p) { p.segments[0].tokens[1] = 9; },
      [](BatchPlan& p) { p.segments[0].pages[0] = 3; },
      [](BatchPlan& p) { p.samples[0].row = 0; },
      [](BatchPlan& p) { p.samples[0].draw = false; },
      [](BatchPlan& p) { p.samples[0].params.temperature = 1; },
      [](BatchPlan& p) { p.samples[0].params.top_p = 0.5f; },
      [](BatchPlan& p) { p.samples[0].params.min_p = 0.5f; },
      [](BatchPlan& p) { p.samples[0].params.repetition_penalty = 0.5f; },
      [](BatchPlan& p) { p.samples[0].params.presence_penalty = 0.5f; },
      [](BatchPlan& p) { p.samples[0].params.frequency_penalty = 0.5f; },
      [](BatchPlan& p) { p.samples[0].params.top_k = 4; },
      [](BatchPlan& p) { p.samples[0].params.seed = 1; },
      [](BatchPlan& p) { p.samples[0].params.position = 1; },
      [](BatchPlan& p) { p.samples[0].counts.clear(); },
      [](BatchPlan& p) { p.samples[0].counts[0].id = 8; },
      [](BatchPlan& p) { p.samples[0].counts[0].generated = 2; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    BatchPlan changed = some_plan();
    changes[i](changed);
    EXPECT_NE(plan_hash(changed), plan_hash(some_plan())) << "change " << i;
  }
}

}  // namespace
}  // namespace octet
