// The definitions of the mixture of experts, of the borders between sub-layers and of the head, for one token on one
// rank, in double with the roundings that the numerics prescribe. Nothing is shared with the ops.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/mpi/whole_weights.h"

namespace octet::test {

template <class Act>
class DefinedMoe {
 public:
  DefinedMoe(const WholeWeights& w, int64_t layer, Numerics numerics) : config_(w.config()), numerics_(numerics) {
    const std::string name = "layers." + std::to_string(layer) + ".ffn.";
    gate_ = w.plain(name + "gate.weight");
    if (layer < config_.num_hash_layers) {
      table_ = w.integers(name + "gate.tid2eid");
    } else {
      bias_ = w.vector(name + "gate.bias");
    }
    for (int64_t e = 0; e < config_.n_routed_experts; ++e) {
      const std::string expert = name + "experts." + std::to_string(e);
      experts_.push_back({w.fp4(expert + ".w1"), w.fp4(expert + ".w2"), w.fp4(expert + ".w3")});
    }
    const std::string shared = name + "shared_experts";
    shared_ = {w.fp8(shared + ".w1"), w.fp8(shared + ".w2"), w.fp8(shared + ".w3")};
  }

  /// Before the rounding of the sum to Act.
  struct Output {
    Row each;      ///< every expert's output rounded, as the reference's one rank does
    Row none;      ///< none rounded: a rank that holds a share of the width cannot
    Row rounding;  ///< what rounding the outputs may have cost
  };
  Output output(const Row& z, int32_t token) const {
    const Row x = linear_input(z, numerics_);
    Output out{Row(z.size(), 0.0), Row(z.size(), 0.0), Row(z.size(), 0.0)};
    const auto add = [&](const Expert& expert, double weight) {
      const Row y = through(expert, x, weight);
      for (size_t i = 0; i < y.size(); ++i) {
        out.each[i] += rounded<Act>(y[i]);
        out.none[i] += y[i];
        out.rounding[i] += half_ulp<Act>(y[i]);
      }
    };
    const Row weights = routing(z, token);
    for (size_t e = 0; e < weights.size(); ++e) {
      if (weights[e] != 0) add(experts_[e], weights[e]);
    }
    add(shared_, 1);
    return out;
  }

 private:
  struct Expert {
    Dense w1, w2, w3;
  };
  /// The weight of every expert, 0 for those that are not chosen.
  Row routing(const Row& z, int32_t token) const {
    Row score = times(gate_, z);
    for (double& s : score) s = std::sqrt(s <= 20 ? std::log1p(std::exp(s)) : s);
    const auto K = static_cast<size_t>(config_.num_experts_per_tok);
    std::vector<size_t> chosen(score.size());
    std::iota(chosen.begin(), chosen.end(), size_t{0});
    if (bias_.empty()) {
      for (size_t k = 0; k < K; ++k) chosen[k] = static_cast<size_t>(table_[static_cast<size_t>(token) * K + k]);
    } else {
      std::stable_sort(chosen.begin(), chosen.end(),
                       [&](size_t a, size_t b) { return score[a] + bias_[a] > score[b] + bias_[b]; });
    }
    double sum = 0;
    for (size_t k = 0; k < K; ++k) sum += score[chosen[k]];
    Row weights(score.size(), 0.0);
    for (size_t k = 0; k < K; ++k) weights[chosen[k]] = config_.routed_scaling_factor * score[chosen[k]] / sum;
    return weights;
  }
  Row through(const Expert& e, const Row& x, double weight) const {
    const double limit = config_.swiglu_limit;
    Row t;
    for (int64_t n = 0; n < e.w1.rows; ++n) {
      const double g = std::min(rounded<Act>(dot(e.w1, n, x.data())), limit);
      const double u = std::clamp(rounded<Act>(dot(e.w3, n, x.data())), -limit, limit);
      t.push_back(rounded<Act>(weight * (g / (1 + std::exp(-g)) * u)));
    }
    return times(e.w2, linear_input(t, numerics_));
  }

  ModelConfig config_;
  Numerics numerics_;
  Dense gate_;
  std::vector<int64_t> table_;
  Row bias_;
  std::vector<Expert> experts_;
  Expert shared_;
};

/// The four streams of a token, one after the other.
struct MixingWeights {
  Dense fn;
  Row base, scale;
  MixingWeights(const WholeWeights& w, const std::string& name)
      : fn(w.plain(name + "_fn")), base(w.vector(name + "_base")), scale(w.vector(name + "_scale")) {}

  /// (fn h) / sqrt(mean(h^2) + eps)
  Row mixes(const Row& h, double eps) const {
    double squares = 0;
    for (const double v : h) squares += v * v;
    Row m = times(fn, h);
    for (double& v : m) v /= std::sqrt(squares / static_cast<double>(h.size()) + eps);
    return m;
  }
  double gate(const Row& m, size_t k, size_t kind) const { return 1 / (1 + std::exp(-(m[k] * scale[kind] + base[k]))); }
};

/// sum_i weight_i h_i, rounded to Act.
template <class Act>
Row mixed(const Row& h, const Row& weight) {
  const size_t D = h.size() / weight.size();
  Row y(D, 0.0);
  for (size_t i = 0; i < weight.size(); ++i) {
    for (size_t d = 0; d < D; ++d) y[d] += weight[i] * h[i * D + d];
  }
  return to_act<Act>(y);
}

struct DefinedBorder {
  Row u, post, comb;
};

/// The input of a sub-layer and the coefficients for its output, from the streams.
template <class Act>
DefinedBorder defined_pre(const Row& h, const MixingWeights& w, const Row& norm, const ModelConfig& config) {
  constexpr size_t n = 4;
  const double eps = config.hc_eps;
  const Row m = w.mixes(h, config.rms_norm_eps);
  Row pre, post, c(n * n);
  for (size_t i = 0; i < n; ++i) {
    pre.push_back(w.gate(m, i, 0) + eps);
    post.push_back(2 * w.gate(m, n + i, 1));
    double sum = 0;
    for (size_t j = 0; j < n; ++j) {
      const size_t k = 2 * n + n * i + j;
      sum += c[n * i + j] = std::exp(m[k] * w.scale[2] + w.base[k]);
    }
    for (size_t j = 0; j < n; ++j) c[n * i + j] = c[n * i + j] / sum + eps;
  }
  const auto normalise = [&](size_t line, size_t step) {  // four entries `step` apart, from `line` on
    double sum = eps;
    for (size_t i = 0; i < n; ++i) sum += c[line + i * step];
    for (size_t i = 0; i < n; ++i) c[line + i * step] /= sum;
  };
  for (int64_t k = 0; k < config.hc_sinkhorn_iters; ++k) {
    for (size_t i = 0; k > 0 && i < n; ++i) normalise(n * i, 1);  // rows, not the first time
    for (size_t j = 0; j < n; ++j) normalise(j, n);
  }
  return {normed<Act>(mixed<Act>(h, pre), norm, config.rms_norm_eps), post, c};
}

/// h_j <- Act( post_j x + sum_i comb_ij h_i )
template <class Act>
Row defined_post(const Row& h, const Row& x, const Row& post, const Row& comb) {
  const size_t n = post.size(), D = x.size();
  Row out(h.size());
  for (size_t j = 0; j < n; ++j) {
    for (size_t d = 0; d < D; ++d) {
      double sum = post[j] * x[d];
      for (size_t i = 0; i < n; ++i) sum += comb[n * i + j] * h[i * D + d];
      out[j * D + d] = rounded<Act>(sum);
    }
  }
  return out;
}

/// Logits of the whole vocabulary from the streams.
template <class Act>
Row defined_head(const Row& h, const WholeWeights& w) {
  const ModelConfig& config = w.config();
  const MixingWeights mixing(w, "hc_head");
  const Row m = mixing.mixes(h, config.rms_norm_eps);
  Row gates;
  for (size_t i = 0; i < m.size(); ++i) gates.push_back(mixing.gate(m, i, 0) + config.hc_eps);
  return times(w.plain("head.weight"), normed<Act>(mixed<Act>(h, gates), w.vector("norm.weight"), config.rms_norm_eps));
}

}  // namespace octet::test
