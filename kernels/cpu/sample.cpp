// Token choice. Works on one row at a time in double; nothing depends on the row's place in the batch.
#include "kernels/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/cpu/context.h"
#include "kernels/philox.h"

namespace octet::ops {
namespace {

constexpr float kGreedyBelow = 1e-5f;

int32_t argmax(Vec<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// -log(-log(u)), u = (word + 0.5) / 2^32 in (0, 1).
double gumbel(const SampleParams& p, int32_t id) {
  const auto block = static_cast<uint32_t>(id / 4);
  const auto position = static_cast<uint32_t>(p.position);
  const Philox4x32 r = philox4x32_10(block, position, /*stream=*/0, 0, p.seed);
  const double u = (static_cast<double>(r.word[id % 4]) + 0.5) * 0x1p-32;
  return -std::log(-std::log(u));
}

/// Ids that survive min_p, top_k and top_p; most probable first if any of them is on.
std::vector<int32_t> candidates(Vec<const float> logits, const SampleParams& p) {
  std::vector<int32_t> ids(static_cast<size_t>(logits.dim[0]));
  std::iota(ids.begin(), ids.end(), 0);
  const bool by_k = p.top_k > 0 && p.top_k < logits.dim[0];
  if (!by_k && p.top_p >= 1.0f && p.min_p <= 0.0f) return ids;
  std::sort(ids.begin(), ids.end(),
            [&](int32_t a, int32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });

  // In this order every filter keeps a front of the list. mass = p / max p.
  const double top = static_cast<double>(logits[ids[0]]);
  const auto mass = [&](int32_t id) {
    return std::exp((static_cast<double>(logits[id]) - top) / static_cast<double>(p.temperature));
  };
  const auto keep_while = [&](auto&& kept) { ids.erase(std::find_if_not(ids.begin(), ids.end(), kept), ids.end()); };
  if (p.min_p > 0.0f) keep_while([&](int32_t id) { return mass(id) >= static_cast<double>(p.min_p); });
  if (by_k && static_cast<size_t>(p.top_k) < ids.size()) {
    const float kth = logits[ids[static_cast<size_t>(p.top_k) - 1]];
    keep_while([&](int32_t id) { return logits[id] >= kth; });
  }
  if (p.top_p < 1.0f) {
    std::vector<double> masses(ids.size());
    std::transform(ids.begin(), ids.end(), masses.begin(), mass);
    const double wanted = static_cast<double>(p.top_p) * std::accumulate(masses.begin(), masses.end(), 0.0);
    size_t kept = 0;
    for (double sum = 0; kept < ids.size() && sum < wanted; ++kept) sum += masses[kept];
    ids.resize(std::max<size_t>(kept, 1));
  }
  return ids;
}

int32_t draw(Vec<const float> logits, const SampleParams& p) {
  if (p.temperature < kGreedyBelow) return argmax(logits);
  int32_t best = -1;
  double best_value = 0;
  for (const int32_t id : candidates(logits, p)) {
    const double value = static_cast<double>(logits[id]) / static_cast<double>(p.temperature) + gumbel(p, id);
    if (best < 0 || value > best_value || (value == best_value && id < best)) {
      best = id;
      best_value = value;
    }
  }
  return best;
}

}  // namespace

void apply_penalties(cpu::Context&, Vec<float> logits, std::span<const TokenCount> counts, const SampleParams& params) {
  const auto repetition = static_cast<double>(params.repetition_penalty);
  for (const TokenCount& c : counts) {
    const auto logit = static_cast<double>(logits[c.id]);
    double penalised = logit > 0 ? logit / repetition : logit * repetition;
    penalised -= static_cast<double>(params.frequency_penalty) * c.generated;
    if (c.generated > 0) penalised -= static_cast<double>(params.presence_penalty);
    logits[c.id] = static_cast<float>(penalised);
  }
}

void sample(cpu::Context&, Vec<int32_t> ids, Mat<const float> logits, Vec<const SampleParams> params) {
  for (int64_t i = 0; i < logits.dim[0]; ++i) ids[i] = draw(logits[i], params[i]);
}

}  // namespace octet::ops
