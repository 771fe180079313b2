// Scheduler: what a batch, a chunk size or an order may not change, and what every plan must respect.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine/plan_hash.h"
#include "tests/support/fake_runner.h"
#include "tests/support/random.h"

namespace octet {
namespace {

using test::FakeRunner;
using test::Random;

constexpr int64_t kVocab = 60;
constexpr TokenId kEos = 1;
constexpr int64_t kMaxSeqLen = 4000;

struct Shape {
  int64_t slots = 4, pages = 12, prefill_chunk = 64;
};

SchedulerLimits limits_of(const Shape& shape) {
  return {{shape.slots, shape.pages, kMaxSeqLen}, shape.prefill_chunk, kEos};
}

Request prompt_of(int64_t index, std::vector<TokenId> tokens, int64_t max_new_tokens) {
  Request r{.index = index, .tokens = std::move(tokens)};
  r.prompt_tokens = r.prefill_tokens = static_cast<int64_t>(r.tokens.size());
  r.max_new_tokens = max_new_tokens;
  return r;
}

/// Requests of every kind: short and over a page, greedy and drawn, generated and scored.
std::vector<Request> random_requests(Random& random, int64_t count) {
  std::vector<Request> requests;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = random.uniform() < 0.1 ? random.integer(900, 2500) : random.integer(1, 90);
    std::vector<TokenId> tokens;
    for (int64_t t = 0; t < length; ++t) tokens.push_back(static_cast<TokenId>(random.integer(0, kVocab - 1)));
    Request r = prompt_of(i, std::move(tokens), random.integer(1, 40));
    r.sampling.seed = random.bits();
    r.sampling.temperature = random.uniform() < 0.5 ? 0.0f : 1.0f;
    r.ignore_eos = random.uniform() < 0.3;
    if (random.uniform() < 0.3) {
      r.max_new_tokens = 0;
      r.prompt_tokens = random.integer(1, length);
      r.prefill_tokens = random.integer(1, length);
    }
    requests.push_back(std::move(r));
  }
  return requests;
}

struct Answer {
  std::vector<TokenId> tokens;
  FinishReason reason;
  bool operator==(const Answer&) const = default;
};

std::map<int64_t, Answer> answers(const std::vector<Request>& requests, const Shape& shape) {
  Scheduler scheduler(limits_of(shape), nullptr);
  FakeRunner runner({shape.slots, shape.pages, kMaxSeqLen}, kVocab);
  for (const Request& r : requests) scheduler.add(r);
  std::map<int64_t, Answer> result;
  while (!scheduler.done()) {
    const BatchPlan plan = scheduler.plan();
    for (Finished& f : scheduler.commit(plan, runner.step(plan))) result[f.index] = {std::move(f.tokens), f.reason};
  }
  EXPECT_EQ(scheduler.free_pages(), shape.pages);
  return result;
}

/// What one request gives by the definition: feed everything, draw, feed the drawn token.
Answer alone(const Request& request) {
  FakeRunner runner({1, 4, kMaxSeqLen}, kVocab);
  Answer answer{{}, FinishReason::kLength};
  std::vector<TokenId> feed = request.tokens;
  int64_t position = 0;
  while (static_cast<int64_t>(answer.tokens.size()) < request.max_new_tokens) {
    BatchPlan plan;
    plan.segments.push_back({0, position, feed, {0, 1, 2, 3}});
    position += static_cast<int64_t>(feed.size());
    plan.samples.push_back({static_cast<int64_t>(feed.size()) - 1, true, request.sampling});
    plan.samples[0].params.position = position;
    const TokenId token = runner.step(plan)[0];
    answer.tokens.push_back(token);
    if (token == kEos && !request.ignore_eos) {
      answer.reason = FinishReason::kStop;
      break;
    }
    feed = {token};
  }
  return answer;
}

TEST(Scheduler, GivesEverySequenceWhatItGetsAlone) {
  Random random(1);
  const std::vector<Request> requests = random_requests(random, 60);
  for (const Shape& shape :
       {Shape{1, 4, 1}, Shape{1, 4, 8192}, Shape{4, 8, 3}, Shape{16, 9, 64}, Shape{16, 64, 8192}}) {
    const std::map<int64_t, Answer> got = answers(requests, shape);
    for (const Request& r : requests) EXPECT_EQ(got.at(r.index), alone(r)) << "request " << r.index;
  }
}

TEST(Scheduler, GivesTheSameTokensInAnyOrder) {
  Random random(2);
  std::vector<Request> requests = random_requests(random, 40);
  const std::map<int64_t, Answer> first = answers(requests, {});
  random.shuffle(requests);
  EXPECT_EQ(answers(requests, {}), first);
}

TEST(Scheduler, NeverExceedsThePrefillBudgetAndGivesEveryDecodingSequenceARow) {
  constexpr int64_t kPrompt = 30;
  const Shape shape{5, 20, 17};
  Scheduler scheduler(limits_of(shape), nullptr);
  FakeRunner runner({shape.slots, shape.pages, kMaxSeqLen}, kVocab);
  for (int64_t i = 0; i < 40; ++i) scheduler.add(prompt_of(i, std::vector<TokenId>(kPrompt, 7), 1 + i % 9));
  int64_t decoding = 0;
  while (!scheduler.done()) {
    const BatchPlan plan = scheduler.plan();
    int64_t prefill_rows = 0, decode_rows = 0, prefilled = 0;
    for (const PlanSegment& s : plan.segments) {
      const auto rows = static_cast<int64_t>(s.tokens.size());
      (s.position < kPrompt ? prefill_rows : decode_rows) += rows;
      prefilled += s.position < kPrompt && s.position + rows == kPrompt;
    }
    EXPECT_LE(prefill_rows, shape.prefill_chunk);
    EXPECT_EQ(decode_rows, decoding);
    const auto finished = scheduler.commit(plan, runner.step(plan));
    decoding += prefilled - static_cast<int64_t>(finished.size());
  }
}

TEST(Scheduler, PacksPrefillOfSeveralPromptsWithDecodeRows) {
  Scheduler scheduler(limits_of({3, 3, 10}), nullptr);
  FakeRunner runner({3, 3, kMaxSeqLen}, kVocab);
  for (int64_t i = 0; i < 3; ++i) scheduler.add(prompt_of(i, std::vector<TokenId>(6, 7), 5));
  BatchPlan plan = scheduler.plan();
  ASSERT_EQ(plan.segments.size(), 2u);
  EXPECT_EQ(plan.segments[0].tokens.size(), 6u);
  EXPECT_EQ(plan.segments[1].tokens.size(), 4u);
  ASSERT_EQ(plan.samples.size(), 1u);  // only the row that ends a prompt
  EXPECT_EQ(plan.samples[0].row, 5);
  EXPECT_EQ(plan.samples[0].params.position, 6);
  scheduler.commit(plan, runner.step(plan));

  plan = scheduler.plan();
  ASSERT_EQ(plan.segments.size(), 3u);
  EXPECT_EQ(plan.segments[0].position, 6);  // the decode row comes first
  EXPECT_EQ(plan.segments[1].position, 4);
  EXPECT_EQ(plan.segments[1].tokens.size(), 2u);
  EXPECT_EQ(plan.segments[2].position, 0);
  EXPECT_EQ(plan.segments[2].tokens.size(), 6u);
}

TEST(Scheduler, AdmitsInOrderEvenIfALaterOneWouldFit) {
  Scheduler scheduler(limits_of({3, 3, 100}), nullptr);
  scheduler.add(prompt_of(0, {5}, 2000));
  scheduler.add(prompt_of(1, {6}, 2000));
  scheduler.add(prompt_of(2, {7}, 1));
  const BatchPlan plan = scheduler.plan();
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_EQ(plan.segments[0].tokens, std::vector<TokenId>{5});
  EXPECT_EQ(scheduler.waiting(), 2);
}

TEST(Scheduler, CountsEosAsATokenAndStopsThere) {
  Scheduler scheduler(limits_of({1, 1, 10}), nullptr);
  scheduler.add(prompt_of(0, {5}, 9));
  scheduler.commit(scheduler.plan(), std::vector<TokenId>{8});
  const std::vector<Finished> finished = scheduler.commit(scheduler.plan(), std::vector<TokenId>{kEos});
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].tokens, (std::vector<TokenId>{8, kEos}));
  EXPECT_EQ(finished[0].reason, FinishReason::kStop);
  EXPECT_TRUE(finished[0].ended_by_eos);
}

TEST(Scheduler, NamesTheStepsOfASequence) {
  Scheduler scheduler(limits_of({1, 1, 2}), nullptr);
  scheduler.add(prompt_of(0, {5, 6, 7}, 2));
  scheduler.commit(scheduler.plan(), {});
  scheduler.commit(scheduler.plan(), std::vector<TokenId>{8});
  const std::vector<Finished> finished = scheduler.commit(scheduler.plan(), std::vector<TokenId>{9});
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].admitted_step, 0);
  EXPECT_EQ(finished[0].first_token_step, 1);
  EXPECT_EQ(finished[0].last_step, 2);
}

TEST(Scheduler, SaysWhichRowIsBehindASample) {
  Scheduler scheduler(limits_of({2, 2, 100}), nullptr);
  scheduler.add(prompt_of(0, {5, 6}, 2));
  Request scored{.index = 1, .tokens = {7, 8, 9}, .prompt_tokens = 2, .prefill_tokens = 3};
  scheduler.add(scored);
  const std::vector<SampleOrigin> origins = scheduler.origins(scheduler.plan());
  ASSERT_EQ(origins.size(), 3u);
  EXPECT_EQ(origins[0].index, 0);
  EXPECT_EQ(origins[0].position, 1);
  EXPECT_EQ(origins[1].index, 1);
  EXPECT_EQ(origins[1].position, 1);
  EXPECT_EQ(origins[2].position, 2);
}

TEST(Scheduler, PlansTheSameTwice) {
  Random random(4);
  Scheduler scheduler(limits_of({}), nullptr);
  FakeRunner runner({4, 12, kMaxSeqLen}, kVocab);
  for (Request& r : random_requests(random, 20)) scheduler.add(std::move(r));
  while (!scheduler.done()) {
    const BatchPlan plan = scheduler.plan();
    EXPECT_EQ(plan_hash(plan), plan_hash(scheduler.plan()));
    scheduler.commit(plan, runner.step(plan));
  }
}

}  // namespace
}  // namespace octet
