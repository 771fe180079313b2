// Routing and experts, expert by expert in ascending order.
#include "kernels/moe.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/product.h"

namespace octet::ops {
namespace {

float gate_score(float logit) {
  const float softplus = logit <= 20.0f ? std::log1p(std::exp(logit)) : logit;
  return std::sqrt(softplus);
}

/// weights[t] = scale * score / sum of the chosen scores, summed in the order of ids.
void normalise(Routing routing, int64_t t, const std::vector<float>& score, float scale) {
  float sum = 0;
  for (const int32_t e : routing.ids[t]) sum += score[static_cast<size_t>(e)];
  for (int64_t k = 0; k < routing.ids.dim[1]; ++k) {
    routing.weights[t][k] = score[static_cast<size_t>(routing.ids[t][k])] / sum * scale;
  }
}

std::vector<float> gate_scores(Vec<const float> logits) {
  std::vector<float> score(static_cast<size_t>(logits.dim[0]));
  std::transform(logits.begin(), logits.end(), score.begin(), gate_score);
  return score;
}

/// The rows of x that belong to expert e's pairs, as floats.
Mat<const float> gather(cpu::Context& ctx, Mat<const float> x, const ExpertGroups& groups, int64_t e) {
  const int64_t begin = groups.offset[e], count = groups.offset[e + 1] - begin;
  Mat<float> rows = ctx.alloc<float>(count, x.dim[1]);
  for (int64_t p = 0; p < count; ++p) {
    const Vec<const float> row = x[groups.token[begin + p]];
    std::copy(row.begin(), row.end(), rows[p].begin());
  }
  return rows;
}

}  // namespace

void route_by_score(cpu::Context&, Routing routing, Mat<const float> logits, Vec<const float> bias, float scale) {
  const int64_t E = logits.dim[1], K = routing.ids.dim[1];
  std::vector<int32_t> order(static_cast<size_t>(E));
  for (int64_t t = 0; t < logits.dim[0]; ++t) {
    const std::vector<float> score = gate_scores(logits[t]);
    for (int64_t e = 0; e < E; ++e) order[static_cast<size_t>(e)] = static_cast<int32_t>(e);
    const auto biased = [&](int32_t e) { return score[static_cast<size_t>(e)] + bias[e]; };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(K), order.end(),
                      [&](int32_t a, int32_t b) {
                        if (cpu::stands_above(biased(a), biased(b))) return true;
                        return !cpu::stands_above(biased(b), biased(a)) && a < b;
                      });
    std::copy(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(K), routing.ids[t].begin());
    normalise(routing, t, score, scale);
  }
}

void route_by_token(cpu::Context&, Routing routing, Mat<const float> logits, Mat<const int64_t> tid2eid,
                    Vec<const int32_t> tokens, float scale) {
  for (int64_t t = 0; t < logits.dim[0]; ++t) {
    const Vec<const int64_t> chosen = tid2eid[tokens[t]];
    for (int64_t k = 0; k < routing.ids.dim[1]; ++k) routing.ids[t][k] = static_cast<int32_t>(chosen[k]);
    normalise(routing, t, gate_scores(logits[t]), scale);
  }
}

void group_by_expert(cpu::Context& ctx, ExpertGroups groups, const Routing& routing) {
  const int64_t E = groups.offset.dim[0] - 1, K = routing.ids.dim[1];
  const auto scope = ctx.scratch_scope();
  Vec<int64_t> next = ctx.alloc<int64_t>(E);
  std::fill(groups.offset.begin(), groups.offset.end(), 0);
  for (const int32_t e : routing.ids) {
    require(e >= 0 && e < E, "group_by_expert: an expert id is out of range");
    ++groups.offset[e + 1];
  }
  for (int64_t e = 0; e < E; ++e) {
    groups.offset[e + 1] += groups.offset[e];
    next[e] = groups.offset[e];
  }
  for (int64_t pair = 0; pair < routing.ids.size(); ++pair) {  // in token order, so each expert's tokens ascend
    const int64_t p = next[routing.ids.data[pair]]++;
    groups.token[p] = static_cast<int32_t>(pair / K);
    groups.weight[p] = routing.weights.data[pair];
  }
}

template <class Act>
void swiglu(cpu::Context&, Mat<Act> t, Mat<const Act> gate, Mat<const Act> up, Vec<const float> weight, float limit) {
  for (int64_t p = 0; p < gate.dim[0]; ++p) {
    for (int64_t i = 0; i < gate.dim[1]; ++i) {
      const float g = std::min(static_cast<float>(gate[p][i]), limit);
      const float u = std::clamp(static_cast<float>(up[p][i]), -limit, limit);
      const float y = g * cpu::sigmoid(g) * u;
      t[p][i] = static_cast<Act>(weight.data == nullptr ? y : weight[p] * y);
    }
  }
}

template <class Act>
void experts_up(cpu::Context& ctx, Mat<Act> t, const LinearInput<Act>& z, const ExpertGroups& groups,
                Vec<const Fp4Weight> w1, Vec<const Fp4Weight> w3, float limit) {
  const auto scope = ctx.scratch_scope();
  const Mat<const float> x = cpu::as_float(ctx, z);
  for (int64_t e = 0; e < w1.dim[0]; ++e) {
    const auto expert_scope = ctx.scratch_scope();
    const int64_t begin = groups.offset[e], count = groups.offset[e + 1] - begin;
    if (count == 0) continue;
    const Mat<const float> rows = gather(ctx, x, groups, e);
    Mat<Act> gate = t.rows(begin, count);
    Mat<Act> up = ctx.alloc<Act>(count, t.dim[1]);
    const auto project = [&](Mat<Act> y, const Fp4Weight& w) {
      cpu::product(
          ctx, rows, w.q.dim[0], [&](int64_t n, float* out) { cpu::read_row(out, w, n); }, cpu::store_rounded(y));
    };
    project(gate, w1[e]);
    project(up, w3[e]);
    swiglu<Act>(ctx, gate, gate, up, Vec<const float>(groups.weight.data + begin, count), limit);
  }
}

template <class Act>
void experts_down(cpu::Context& ctx, Mat<float> y, const LinearInput<Act>& x, const ExpertGroups& groups,
                  Vec<const Fp4Weight> w2, ExpertOutput output) {
  const auto scope = ctx.scratch_scope();
  const Mat<const float> rows = cpu::as_float(ctx, x);
  std::fill(y.begin(), y.end(), 0.0f);
  for (int64_t e = 0; e < w2.dim[0]; ++e) {
    const int64_t begin = groups.offset[e], count = groups.offset[e + 1] - begin;
    cpu::product(
        ctx, rows.rows(begin, count), w2[e].q.dim[0], [&](int64_t n, float* out) { cpu::read_row(out, w2[e], n); },
        [&](int64_t p, int64_t n, const float* v, int64_t count_n) {
          float* sum = y[groups.token[begin + p]].data + n;
          for (int64_t i = 0; i < count_n; ++i) {
            sum[i] += output == ExpertOutput::kWhole ? static_cast<float>(static_cast<Act>(v[i])) : v[i];
          }
        });
  }
}

template <class Act>
void add_expert(cpu::Context&, Mat<float> y, Mat<const float> x, ExpertOutput output) {
  for (int64_t i = 0; i < y.size(); ++i) {
    y.data[i] += output == ExpertOutput::kWhole ? static_cast<float>(static_cast<Act>(x.data[i])) : x.data[i];
  }
}

template void swiglu(cpu::Context&, Mat<bf16>, Mat<const bf16>, Mat<const bf16>, Vec<const float>, float);
template void swiglu(cpu::Context&, Mat<float>, Mat<const float>, Mat<const float>, Vec<const float>, float);
template void experts_up(cpu::Context&, Mat<bf16>, const LinearInput<bf16>&, const ExpertGroups&, Vec<const Fp4Weight>,
                         Vec<const Fp4Weight>, float);
template void experts_up(cpu::Context&, Mat<float>, const LinearInput<float>&, const ExpertGroups&,
                         Vec<const Fp4Weight>, Vec<const Fp4Weight>, float);
template void experts_down(cpu::Context&, Mat<float>, const LinearInput<bf16>&, const ExpertGroups&,
                           Vec<const Fp4Weight>, ExpertOutput);
template void experts_down(cpu::Context&, Mat<float>, const LinearInput<float>&, const ExpertGroups&,
                           Vec<const Fp4Weight>, ExpertOutput);
template void add_expert<bf16>(cpu::Context&, Mat<float>, Mat<const float>, ExpertOutput);
template void add_expert<float>(cpu::Context&, Mat<float>, Mat<const float>, ExpertOutput);

}  // namespace octet::ops
