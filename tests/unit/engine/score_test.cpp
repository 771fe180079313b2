// Scoring: the right row for every token, whatever the split, the batch and the order.
#include "engine/score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "engine/loop.h"
#include "engine/requests.h"
#include "tests/support/fake_runner.h"
#include "tests/support/random.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

using test::FakeRunner;
using test::Random;

constexpr int64_t kVocab = 40;

std::vector<Prompt> random_prompts(Random& random, int64_t count) {
  std::vector<Prompt> prompts(static_cast<size_t>(count));
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto tokens = [&](int64_t n) {
      std::vector<TokenId> ids;
      for (int64_t t = 0; t < n; ++t) ids.push_back(static_cast<TokenId>(random.integer(0, kVocab - 1)));
      return ids;
    };
    prompts[i].id = Json(static_cast<int64_t>(i));
    prompts[i].inputs.push_back({.text = {}, .tokens = tokens(random.integer(3, 30))});
    prompts[i].continuation = tokens(random.integer(0, 8));
  }
  return prompts;
}

struct Scored {
  std::map<int64_t, Score> scores;
  std::string logits_file;
};

Scored score_all(const std::vector<Prompt>& prompts, std::optional<int64_t> split, int64_t slots, int64_t chunk) {
  const test::TempFolder folder;
  const std::string path = folder.file("logits.safetensors");
  std::vector<Request> requests;
  ScoreOptions options;
  options.split = split;
  for (const Prompt& p : prompts) {
    requests.push_back(std::get<Request>(
        score_request(p, static_cast<int64_t>(requests.size()), {.vocab_size = kVocab, .max_seq_len = 100}, options)));
  }
  const std::unique_ptr<OrderedDump> dump = make_logits_dump(path, prompts, requests, kVocab);
  Scheduler scheduler({{slots, slots, 100}, chunk, 1}, nullptr);
  FakeRunner runner({slots, slots, 100}, kVocab);
  for (const Request& r : requests) scheduler.add(r);
  Scorer scorer(prompts, dump.get());
  Scored result;
  LoopHooks hooks;
  hooks.after_step = [&](std::span<const SampleOrigin> origins, Mat<const float> logits, auto) {
    scorer.observe(origins, logits);
  };
  hooks.finished = [&](Finished&& f, const Timing&) { result.scores[f.index] = scorer.take(f.index); };
  run_loop(scheduler, runner, hooks);
  dump->close();
  result.logits_file = test::read_file(path);
  return result;
}

TEST(Score, IsTheLogSoftmaxOfTheRowBeforeEachToken) {
  Random random(1);
  const std::vector<Prompt> prompts = random_prompts(random, 6);
  const Scored scored = score_all(prompts, {}, 3, 64);
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::vector<TokenId> history = *prompts[i].inputs.front().tokens;
    const Score& score = scored.scores.at(static_cast<int64_t>(i));
    ASSERT_EQ(score.logprobs.size(), prompts[i].continuation.size());
    for (size_t t = 0; t < prompts[i].continuation.size(); ++t) {
      const std::vector<float> row = FakeRunner::logits_after(history, kVocab);
      const TokenId token = prompts[i].continuation[t];
      EXPECT_DOUBLE_EQ(score.logprobs[t], log_softmax_at(row, token));
      EXPECT_EQ(score.greedy[t], std::max_element(row.begin(), row.end()) - row.begin() == token);
      history.push_back(token);
    }
  }
}

TEST(Score, DumpsTheRowsOfEveryLineInOrder) {
  Random random(2);
  const std::vector<Prompt> prompts = random_prompts(random, 5);
  const test::TempFolder folder;
  test::write_file(folder.file("f"), score_all(prompts, {}, 4, 7).logits_file);
  const SafetensorsHeader header = read_safetensors_header(folder.file("f"));
  const std::string bytes = test::read_file(folder.file("f"));
  ASSERT_EQ(header.entries.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    const SafetensorsEntry& entry = header.entries[i];
    const auto rows = static_cast<int64_t>(prompts[i].continuation.size()) + 1;
    EXPECT_EQ(entry.tensor.name, std::to_string(i) + ".logits");
    EXPECT_EQ(entry.tensor.shape, (std::vector<int64_t>{rows, kVocab}));
    std::vector<TokenId> history = *prompts[i].inputs.front().tokens;
    history.insert(history.end(), prompts[i].continuation.begin(), prompts[i].continuation.end());
    const std::vector<float> last = FakeRunner::logits_after(history, kVocab);
    const char* stored = bytes.data() + entry.offset + (rows - 1) * kVocab * 4;
    EXPECT_EQ(std::memcmp(stored, last.data(), last.size() * 4), 0) << "line " << i;
  }
}

TEST(Score, DoesNotDependOnSplitBatchOrChunk) {
  Random random(3);
  const std::vector<Prompt> prompts = random_prompts(random, 12);
  const Scored first = score_all(prompts, {}, 1, 64);
  struct Arm {
    std::optional<int64_t> split;
    int64_t slots, chunk;
  };
  for (const Arm& arm : {Arm{1, 4, 64}, Arm{3, 12, 2}, Arm{{}, 16, 1}, Arm{2, 3, 1}}) {
    const Scored other = score_all(prompts, arm.split, arm.slots, arm.chunk);
    EXPECT_EQ(other.logits_file, first.logits_file);
    for (const auto& [index, score] : first.scores) EXPECT_EQ(other.scores.at(index).logprobs, score.logprobs);
  }
}

TEST(Score, DoesNotOverflowWithLargeLogits) {
  const std::vector<float> logits = {1000, 999, -1000};
  EXPECT_NEAR(log_softmax_at(logits, 0), -std::log1p(std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(log_softmax_at(logits, 2), -2000 - std::log1p(std::exp(-1.0)), 1e-9);
}

TEST(OrderedDump, RefusesToCloseWithValuesMissing) {
  const test::TempFolder folder;
  OrderedDump dump(folder.file("f"), {{0, {{"a", DType::kF32, {2}}}}});
  dump.append(0, std::vector<float>{1});
  EXPECT_THROW(dump.close(), Error);
}

}  // namespace
}  // namespace octet
