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

/// Ids that survive top_k and top_p, most probable first.
std::vector<int32_t> candidates(Vec<const float> logits, const SampleParams& p) {
  std::vector<int32_t> ids(static_cast<size_t>(logits.dim[0]));
  std::iota(ids.begin(), ids.end(), 0);
  const bool by_k = p.top_k > 0 && p.top_k < logits.dim[0];
  if (!by_k && p.top_p >= 1.0f) return ids;
  std::sort(ids.begin(), ids.end(),
            [&](int32_t a, int32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });
  if (by_k) {
    const float kth = logits[ids[static_cast<size_t>(p.top_k) - 1]];
    const auto beyond = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return logits[id] < kth; });
    ids.erase(beyond, ids.end());
  }
  if (p.top_p < 1.0f) {
    std::vector<double> mass(ids.size());
    const double top = static_cast<double>(logits[ids[0]]);
    for (size_t i = 0; i < ids.size(); ++i) {
      mass[i] = std::exp((static_cast<double>(logits[ids[i]]) - top) / static_cast<double>(p.temperature));
    }
    const double wanted = static_cast<double>(p.top_p) * std::accumulate(mass.begin(), mass.end(), 0.0);
    size_t kept = 0;
    for (double sum = 0; kept < ids.size() && sum < wanted; ++kept) sum += mass[kept];
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

void sample(cpu::Context&, Vec<int32_t> ids, Mat<const float> logits, Vec<const SampleParams> params) {
  for (int64_t i = 0; i < logits.dim[0]; ++i) ids[i] = draw(logits[i], params[i]);
}

}  // namespace octet::ops
