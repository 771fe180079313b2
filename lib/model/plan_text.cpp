// See plan_text.h.
#include "model/plan_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/batch.h"

namespace octet {
namespace {

constexpr int64_t kMostBatch = 4096;
constexpr int64_t kUsualContexts[] = {4096, 8192, 32768, 131072, 262144, 393216, 1048576};

std::string gib(int64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) * 0x1p-30);
}

std::string line(const std::string& name, int64_t bytes, const std::string& note = "") {
  return fmt::format("  {:<28}{:>20} bytes {:>9} GiB{}{}\n", name, grouped(bytes), gib(bytes), note.empty() ? "" : "  ",
                     note);
}

std::string weight_lines(const MemoryPlan& plan) {
  std::string text = fmt::format("Weights of a rank (of {}):\n", plan.setup.ranks);
  for (const WeightClass& c : plan.weights) {
    if (c.bytes() == 0) continue;
    text +=
        line(c.name, c.bytes(), fmt::format("split {}, replicated {}", gib(c.split_bytes), gib(c.replicated_bytes)));
  }
  return text;
}

std::string state_lines(const MemoryPlan& plan) {
  const StateBytes& s = plan.state;
  std::string text = "State, whole on every rank:\n";
  text += line("window rings", s.window, "per sequence");
  text += line("compressor rings", s.raw + s.index_raw, "per sequence");
  text += fmt::format("  {:<28}{:>20.1f} bytes{:>15}per token, in pages of {}\n", "compressed rows",
                      static_cast<double>(s.compressed) / kPageTokens, "", grouped(kPageTokens));
  text += fmt::format("  {:<28}{:>20.1f} bytes{:>15}per token, in pages of {}\n", "indexer keys",
                      static_cast<double>(s.index) / kPageTokens, "", grouped(kPageTokens));
  return text;
}

const char* numerics_word(Numerics numerics) {
  switch (numerics) {
    case Numerics::kExact: return "exact";
    case Numerics::kWeightOnly: return "weight_only";
    case Numerics::kOfficial: return "official";
  }
  return "?";
}

}  // namespace

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

PlanAdvice advise(const MemoryPlanner& planner, const MemoryPlan& plan, int64_t card_bytes) {
  const PlanSetup& s = plan.setup;
  PlanAdvice advice;
  advice.fits = plan.total_bytes() <= card_bytes;
  advice.largest_batch = planner.largest_batch(s.context, s.prefill_chunk, card_bytes, kMostBatch);
  advice.largest_context = planner.largest_context(s.batch, s.prefill_chunk, card_bytes);
  for (const int64_t context : kUsualContexts) {
    if (context > planner.config().max_position_embeddings) break;
    const int64_t batch = planner.largest_batch(context, s.prefill_chunk, card_bytes, kMostBatch);
    if (batch > 0) advice.choices.push_back({context, batch});
  }
  return advice;
}

std::vector<std::string> advice_lines(const MemoryPlan& plan, const PlanAdvice& advice) {
  std::vector<std::string> lines;
  const auto batch_text = [](int64_t batch) {
    return fmt::format("{}{}", batch, batch == kMostBatch ? " and more" : "");
  };
  if (!advice.fits) {
    if (advice.largest_context > 0) {
      lines.push_back(
          fmt::format("--max-batch {} fits with --max-seq-len {}", plan.setup.batch, advice.largest_context));
    }
    if (advice.largest_batch == 0) {
      lines.push_back(
          fmt::format("context {} fits with no batch: more ranks, a larger card, or a smaller --prefill-chunk",
                      grouped(plan.setup.context)));
    }
  }
  for (const PlanAdvice::Choice& c : advice.choices) {
    lines.push_back(fmt::format("context {} fits with --max-batch {}", grouped(c.context), batch_text(c.batch)));
  }
  return lines;
}

std::string plan_text(const MemoryPlan& plan, const PlanAdvice& advice, int64_t card_bytes, const std::string& source) {
  const PlanSetup& s = plan.setup;
  std::string text =
      fmt::format("{} ranks{}, --numerics {}, --max-batch {}, context {}, --prefill-chunk {}; sizes from {}\n\n",
                  s.ranks, s.stages == 1 ? "" : fmt::format(" in {} stages (the rank that holds most)", s.stages),
                  numerics_word(s.numerics), s.batch, grouped(s.context), s.prefill_chunk, source);
  text += weight_lines(plan) + '\n' + state_lines(plan) + "\nA rank needs:\n";
  text += line("weights", plan.weight_bytes);
  text += line("cache", plan.cache_bytes, fmt::format("{} pages, {} sequences", grouped(s.pages), s.batch));
  text += line("scratch", plan.scratch_bytes, "of a step, at most");
  if (plan.exchange_bytes > 0) text += line("exchange", plan.exchange_bytes, "for --ar-int8");
  text += line("logits", plan.logits_bytes, "rank 0 only");
  text += line("all", plan.total_bytes());
  text += fmt::format("\n{} a memory of {} GiB per rank\n", advice.fits ? "fits" : "DOES NOT FIT", gib(card_bytes));
  for (const std::string& advice_line : advice_lines(plan, advice)) text += "  " + advice_line + '\n';
  return text;
}

Json plan_json(const MemoryPlan& plan, const PlanAdvice& advice, int64_t card_bytes, const std::string& source) {
  const PlanSetup& s = plan.setup;
  Json weights = Json::array();
  for (const WeightClass& c : plan.weights) {
    weights.push(Json::object({{"class", c.name},
                               {"split_bytes", c.split_bytes},
                               {"replicated_bytes", c.replicated_bytes},
                               {"bytes", c.bytes()}}));
  }
  Json choices = Json::array();
  for (const PlanAdvice::Choice& c : advice.choices) {
    choices.push(Json::object({{"context", c.context}, {"max_batch", c.batch}}));
  }
  const StateBytes& state = plan.state;
  return Json::object({{"source", source},
                       {"ranks", static_cast<int64_t>(s.ranks)},
                       {"pp", static_cast<int64_t>(s.stages)},
                       {"numerics", numerics_word(s.numerics)},
                       {"max_batch", s.batch},
                       {"context", s.context},
                       {"pages", s.pages},
                       {"page_tokens", kPageTokens},
                       {"prefill_chunk", s.prefill_chunk},
                       {"weights", std::move(weights)},
                       {"state", Json::object({{"window_bytes_per_sequence", state.window},
                                               {"compressor_bytes_per_sequence", state.raw},
                                               {"indexer_bytes_per_sequence", state.index_raw},
                                               {"compressed_bytes_per_page", state.compressed},
                                               {"index_bytes_per_page", state.index}})},
                       {"weight_bytes", plan.weight_bytes},
                       {"cache_bytes", plan.cache_bytes},
                       {"scratch_bytes", plan.scratch_bytes},
                       {"exchange_bytes", plan.exchange_bytes},
                       {"logits_bytes", plan.logits_bytes},
                       {"total_bytes", plan.total_bytes()},
                       {"card_bytes", card_bytes},
                       {"fits", advice.fits},
                       {"largest_batch", advice.largest_batch},
                       {"largest_context", advice.largest_context},
                       {"choices", std::move(choices)}});
}

}  // namespace octet
