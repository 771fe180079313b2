// See score.h. A row of logits belongs to the token at the next position.
#include "engine/score.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet {
namespace {

std::vector<TensorDeclaration> in_order(const std::map<int64_t, std::vector<TensorDeclaration>>& tensors) {
  std::vector<TensorDeclaration> all;
  for (const auto& [index, own] : tensors) all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace

double log_softmax_at(std::span<const float> logits, TokenId token) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - largest - std::log(sum);
}

OrderedDump::OrderedDump(const std::string& path, const std::map<int64_t, std::vector<TensorDeclaration>>& tensors)
    : writer_(path, in_order(tensors)) {
  for (const auto& [index, own] : tensors) {
    Pending& p = pending_[index];
    for (const TensorDeclaration& t : own) p.missing += tensor_bytes(t) / dtype_bytes(DType::kF32);
  }
}

void OrderedDump::append(int64_t index, std::span<const float> values) {
  const auto found = pending_.find(index);
  require(found != pending_.end(), "values for a sequence whose tensors are complete");
  Pending& p = found->second;
  const auto count = static_cast<int64_t>(values.size());
  require(count <= p.missing, "more values than the tensors have");
  p.missing -= count;
  if (found != pending_.begin()) {
    p.held.insert(p.held.end(), values.begin(), values.end());
    return;
  }
  writer_.write(values);
  if (p.missing == 0) advance();
}

/// The first sequence is complete: writes what the next ones have held back.
void OrderedDump::advance() {
  while (!pending_.empty() && pending_.begin()->second.missing == 0) {
    pending_.erase(pending_.begin());
    if (pending_.empty()) return;
    Pending& next = pending_.begin()->second;
    if (!next.held.empty()) writer_.write(std::span<const float>(next.held));
    next.held = {};
  }
}

void OrderedDump::close() {
  writer_.close();
}

std::unique_ptr<OrderedDump> make_logits_dump(const std::string& path, const std::vector<Prompt>& prompts,
                                              const std::vector<Request>& requests, int64_t vocab_size) {
  std::map<int64_t, std::vector<TensorDeclaration>> tensors;
  for (const Request& r : requests) {
    const int64_t rows = static_cast<int64_t>(r.tokens.size()) - r.prompt_tokens + 1;
    const std::string id = id_text(prompts[static_cast<size_t>(r.index)].id);
    tensors[r.index] = {{id + ".logits", DType::kF32, {rows, vocab_size}}};
  }
  return std::make_unique<OrderedDump>(path, tensors);
}

std::unique_ptr<OrderedDump> make_streams_dump(const std::string& path, const std::vector<Prompt>& prompts,
                                               const std::vector<Request>& requests, const ModelConfig& config) {
  std::map<int64_t, std::vector<TensorDeclaration>> tensors;
  for (const Request& r : requests) {
    const std::string id = id_text(prompts[static_cast<size_t>(r.index)].id);
    for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      tensors[r.index].push_back(
          {id + ".layer" + std::to_string(layer) + ".last", DType::kF32, {config.hc_mult, config.hidden_size}});
    }
  }
  return std::make_unique<OrderedDump>(path, tensors);
}

void Scorer::observe(std::span<const SampleOrigin> origins, Mat<const float> logits) {
  for (size_t i = 0; i < origins.size(); ++i) {
    const SampleOrigin& origin = origins[i];
    const Vec<const float> view = logits[static_cast<int64_t>(i)];
    const std::span<const float> row(view.data, static_cast<size_t>(view.size()));
    if (dump_) dump_->append(origin.index, row);
    const std::vector<TokenId>& continuation = prompts_[static_cast<size_t>(origin.index)].continuation;
    const auto place = static_cast<size_t>(origin.position - (origin.prompt_tokens - 1));
    if (place == continuation.size()) continue;  // the row after the last token
    Score& score = scores_[origin.index];
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    score.logprobs.push_back(log_softmax_at(row, continuation[place]));
    score.greedy.push_back(best == continuation[place]);
  }
}

Score Scorer::take(int64_t index) {
  Score score = std::move(scores_[index]);
  scores_.erase(index);
  return score;
}

}  // namespace octet
