// A hundred thousand lines through everything but a model: memory stays flat, and every line is answered once.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <vector>

#include "engine/item_feed.h"
#include "engine/loop.h"
#include "io/results.h"
#include "tests/support/test_files.h"

namespace octet {
namespace {

constexpr int64_t kLines = 100'000;
constexpr int64_t kBatch = 64;

/// Draws token 5; no memory, no model.
class NullRunner final : public Runner {
 public:
  explicit NullRunner(const RunnerCapacity& capacity) : capacity_(capacity) {}
  std::span<const TokenId> step(const BatchPlan& plan) override {
    tokens_.assign(plan.samples.size(), 5);
    return tokens_;
  }
  Mat<const float> logits() const override { return {}; }
  void use(const CampaignOptions&, const std::optional<TestFault>&) override {}
  std::string check() override { return ""; }
  RunnerReport report() const override { return {}; }
  RunnerCapacity capacity() const override { return capacity_; }

 private:
  RunnerCapacity capacity_;
  std::vector<TokenId> tokens_;
};

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

double processor_us() {
  return 1e6 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void write_lines(const std::string& path) {
  std::ofstream out(path);
  for (int64_t i = 0; i < kLines; ++i) {
    out << fmt::format("{{\"id\":\"item-{}\",\"prompt_token_ids\":[0,{},{},9,10,11,12],\"max_tokens\":{}}}\n", i,
                       i % 50 + 2, i % 31 + 2, 1 + i % 4);
  }
}

TEST(Stream, AHundredThousandLinesNeedNoMemory) {
  const test::TempFolder dir;
  write_lines(dir.file("in.jsonl"));
  RequestLimits limits;
  limits.vocab_size = 64;
  limits.max_seq_len = 1024;
  const RequestOptions options;
  const SamplingDefaults defaults;
  const ItemReader reader(PromptForm::kGenerate, [&](const Prompt& prompt, int64_t index) {
    return generate_requests(prompt, index, limits, options, defaults);
  });

  const int64_t before = resident_bytes();
  const double start = processor_us();
  InputLines lines(dir.file("in.jsonl"));
  const ItemIndex index(lines, reader, {.max_batch = kBatch, .max_seq_len = 1024}, {});
  const double indexed = processor_us();
  double reading_again = 0;
  ResultFile output(dir.file("out.jsonl"), ResultFile::Open::kFresh);
  ItemFeed feed(lines, reader, index, [](auto, auto&, auto& error, auto) { ADD_FAILURE() << error.message; });
  Scheduler scheduler({index.capacity(), 8192, 1, index.prefix_slots()}, nullptr);
  NullRunner runner(index.capacity());
  LoopHooks hooks;
  hooks.refill = [&] {
    if (feed.exhausted() || scheduler.waiting() >= kBatch) return;
    const double begin = processor_us();
    std::vector<Request> requests = feed.next(kBatch);
    reading_again += processor_us() - begin;
    for (Request& r : requests) scheduler.add(std::move(r));
  };
  const RowContext context;
  hooks.finished = [&](Finished&& finished, const Timing& timing) {
    const int64_t i = finished.index;
    const std::optional<CompletedItem> item = feed.complete(std::move(finished), timing);
    ASSERT_TRUE(item.has_value());
    output.write(i,
                 completion_row(item->prompt, item->provenance, item->choices, hash_text(item->hash), context).dump());
  };
  run_loop(scheduler, runner, hooks);
  output.finish(false);
  const double end = processor_us();
  const int64_t grown = resident_bytes() - before;
  fmt::print(
      "processor time per item: {:.1f} us to read and check, {:.1f} us to read again, {:.1f} us to schedule and "
      "write; {:.0f} bytes of resident memory\n",
      (indexed - start) / kLines, reading_again / kLines, (end - indexed - reading_again) / kLines,
      static_cast<double>(grown) / kLines);
  EXPECT_LT(grown, int64_t{64} << 20);

  std::ifstream out(dir.file("out.jsonl"));
  std::string line;
  int64_t count = 0;
  while (std::getline(out, line)) {
    ASSERT_TRUE(line.starts_with(fmt::format("{{\"id\":\"item-{}\",", count))) << line;
    ++count;
  }
  EXPECT_EQ(count, kLines);
}

}  // namespace
}  // namespace octet
