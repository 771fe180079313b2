// The definition of a layer's attention for one whole sequence on one rank, step by step from the model's formulas, in
// double with the roundings that the numerics prescribe. Nothing is shared with the ops, the layers or the loader.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/mpi/whole_weights.h"

namespace octet::test {

/// 1 / theta^(2i / dim), blended towards a sixteenth of it for the layers with compressed rows.
inline std::vector<float> defined_frequencies(const ModelConfig& config, int64_t ratio) {
  const double dim = static_cast<double>(config.qk_rope_head_dim);
  const double theta = ratio == 0 ? config.rope_theta : config.compress_rope_theta;
  const auto turns = [&](double b) {
    const double context = static_cast<double>(config.yarn_original_max_position);
    return dim * std::log(context / (2 * M_PI * b)) / (2 * std::log(theta));
  };
  const double low = std::floor(turns(config.yarn_beta_fast)), high = std::ceil(turns(config.yarn_beta_slow));
  std::vector<float> f;
  for (int i = 0; 2 * i < config.qk_rope_head_dim; ++i) {
    const double plain = std::pow(theta, -2.0 * i / dim);
    const double keep = 1 - std::clamp((i - low) / (high - low), 0.0, 1.0);
    f.push_back(static_cast<float>(ratio == 0 ? plain : plain / config.yarn_factor * (1 - keep) + plain * keep));
  }
  return f;
}

/// Rows of one compressor: pooled, normed and rotated, not yet quantised.
template <class Act>
class DefinedCompressor {
 public:
  DefinedCompressor(const WholeWeights& w, const std::string& name, int64_t ratio, std::vector<float> f)
      : value_(w.plain(name + ".wkv.weight")),
        gate_(w.plain(name + ".wgate.weight")),
        ape_(w.plain(name + ".ape")),
        norm_(w.vector(name + ".norm.weight")),
        ratio_(ratio),
        f_(std::move(f)),
        eps_(w.config().rms_norm_eps) {}

  std::vector<Row> rows(const std::vector<Row>& z) const {
    const size_t r = static_cast<size_t>(ratio_), d = norm_.size();
    std::vector<Row> u, s;
    for (size_t t = 0; t < z.size(); ++t) {
      u.push_back(times(value_, z[t]));
      s.push_back(times(gate_, z[t]));
      for (size_t c = 0; c < s[t].size(); ++c) {
        s[t][c] += ape_.at(static_cast<int64_t>(t % r), static_cast<int64_t>(c));
      }
    }
    std::vector<Row> result;
    for (size_t j = 0; (j + 1) * r <= z.size(); ++j) {
      Row g;
      for (size_t c = 0; c < d; ++c) {
        double sum = 0, weights = 0;
        const auto add = [&](size_t t, size_t channel) {
          const double weight = std::exp(s[t][channel]);
          weights += weight;
          sum += weight * u[t][channel];
        };
        for (size_t t = j * r; t < (j + 1) * r; ++t) add(t, r == 4 ? d + c : c);
        for (size_t t = j * r - r; r == 4 && j > 0 && t < j * r; ++t) add(t, c);
        g.push_back(rounded<Act>(sum / weights));
      }
      g = normed<Act>(g, norm_, eps_);
      rotate<Act>(g, 0, d, static_cast<int64_t>(j * r), f_, 1);
      result.push_back(g);
    }
    return result;
  }

 private:
  Dense value_, gate_, ape_;
  Row norm_;
  int64_t ratio_;
  std::vector<float> f_;
  double eps_;
};

/// y = x H / sqrt(n), H[a][b] = (-1)^popcount(a & b), then e2m1 in blocks of 32.
template <class Act>
void index_round(Row& x, size_t first, size_t n) {
  if constexpr (std::is_same_v<Act, float>) return;
  Row y(n, 0.0);
  for (size_t b = 0; b < n; ++b) {
    for (size_t a = 0; a < n; ++a) y[b] += std::popcount(a & b) % 2 == 0 ? x[first + a] : -x[first + a];
  }
  for (size_t b = 0; b < n; ++b) x[first + b] = rounded<Act>(y[b] / std::sqrt(static_cast<double>(n)));
  quantise_fp4(x, first, n);
}

/// The rows that each query of a ratio-4 layer attends to, best first.
template <class Act>
class DefinedIndexer {
 public:
  DefinedIndexer(const WholeWeights& w, const std::string& name, const std::vector<float>& f)
      : config_(w.config()),
        wq_b_(w.fp8(name + ".wq_b")),
        weights_proj_(w.plain(name + ".weights_proj.weight")),
        compressor_(w, name + ".compressor", 4, f),
        f_(f) {}

  /// z and qr of every position; qr as the input of a linear.
  std::vector<std::vector<size_t>> selected(const std::vector<Row>& z, const std::vector<Row>& qr) const {
    const auto H = static_cast<size_t>(config_.index_n_heads), d = static_cast<size_t>(config_.index_head_dim);
    std::vector<Row> keys = compressor_.rows(z);
    for (Row& k : keys) index_round<Act>(k, 0, d);
    std::vector<std::vector<size_t>> result;
    for (size_t p = 0; p < z.size(); ++p) {
      Row q = to_act<Act>(times(wq_b_, qr[p]));
      Row w = to_act<Act>(times(weights_proj_, z[p]));
      for (size_t h = 0; h < H; ++h) {
        rotate<Act>(q, h * d, d, static_cast<int64_t>(p), f_, 1);
        index_round<Act>(q, h * d, d);
        w[h] = rounded<Act>(w[h] / std::sqrt(static_cast<double>(d * H)));
      }
      result.push_back(best(q, w, keys, (p + 1) / 4));
    }
    return result;
  }

 private:
  std::vector<size_t> best(const Row& q, const Row& w, const std::vector<Row>& keys, size_t candidates) const {
    const size_t d = static_cast<size_t>(config_.index_head_dim);
    Row score(candidates, 0.0);
    for (size_t j = 0; j < candidates; ++j) {
      for (size_t h = 0; h < w.size(); ++h) {
        const double s =
            std::inner_product(keys[j].begin(), keys[j].end(), q.begin() + static_cast<int64_t>(h * d), 0.0);
        score[j] += rounded<Act>(std::max(rounded<Act>(s), 0.0) * w[h]);
      }
      score[j] = rounded<Act>(score[j]);
    }
    std::vector<size_t> order(candidates);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score[a] > score[b]; });
    order.resize(std::min(candidates, static_cast<size_t>(config_.index_topk)));
    return order;
  }

  ModelConfig config_;
  Dense wq_b_, weights_proj_;
  DefinedCompressor<Act> compressor_;
  std::vector<float> f_;
};

/// sum_i e_i k_i / (sum_i e_i + e^sink) over blocks of 64 entries of the list, where e_i is relative to the largest
/// logit so far and rounded to Act for the value product only. Null: padding.
template <class Act>
Row attend(const double* q, const std::vector<const Row*>& keys, double sink) {
  const size_t d = keys[0]->size();
  double m = -std::numeric_limits<double>::infinity(), z = 0;
  Row o(d, 0.0), logit;
  for (const Row* k : keys) {
    logit.push_back(k == nullptr
                        ? -std::numeric_limits<double>::infinity()
                        : std::inner_product(k->begin(), k->end(), q, 0.0) / std::sqrt(static_cast<double>(d)));
  }
  for (size_t begin = 0; begin < keys.size(); begin += 64) {
    const size_t end = std::min(begin + 64, keys.size());
    double top = m;
    for (size_t i = begin; i < end; ++i) top = std::max(top, logit[i]);
    const double rescale = std::exp(m - top);
    m = top;
    z *= rescale;
    for (double& v : o) v *= rescale;
    for (size_t i = begin; i < end; ++i) {
      if (keys[i] == nullptr) continue;
      const double e = std::exp(logit[i] - m);
      z += e;
      for (size_t c = 0; c < d; ++c) o[c] += rounded<Act>(e) * (*keys[i])[c];
    }
  }
  z += std::exp(sink - m);
  for (double& v : o) v = rounded<Act>(v / z);
  return o;
}

template <class Act>
class DefinedAttention {
 public:
  DefinedAttention(const WholeWeights& w, int64_t layer, Numerics numerics)
      : config_(w.config()), numerics_(numerics), ratio_(config_.compress_ratios[static_cast<size_t>(layer)]) {
    const std::string name = "layers." + std::to_string(layer) + ".attn";
    f_ = defined_frequencies(config_, ratio_);
    wq_a_ = w.fp8(name + ".wq_a");
    wq_b_ = w.fp8(name + ".wq_b");
    wkv_ = w.fp8(name + ".wkv");
    wo_a_ = w.fp8(name + ".wo_a");
    wo_b_ = w.fp8(name + ".wo_b");
    q_norm_ = w.vector(name + ".q_norm.weight");
    kv_norm_ = w.vector(name + ".kv_norm.weight");
    sink_ = w.vector(name + ".attn_sink");
    if (ratio_ != 0) compressor_.emplace(w, name + ".compressor", ratio_, f_);
    if (ratio_ == 4) indexer_.emplace(w, name + ".indexer", f_);
  }

  /// The output of every position, before its rounding to Act.
  std::vector<Row> outputs(const std::vector<Row>& u) const {
    std::vector<Row> q, qr, window, compressed;
    for (size_t p = 0; p < u.size(); ++p) {
      const Row z = linear_input(u[p], numerics_);
      qr.push_back(linear_input(normed<Act>(to_act<Act>(times(wq_a_, z)), q_norm_, config_.rms_norm_eps), numerics_));
      q.push_back(query(qr[p], static_cast<int64_t>(p)));
      Row k = normed<Act>(to_act<Act>(times(wkv_, z)), kv_norm_, config_.rms_norm_eps);
      rotate<Act>(k, 0, k.size(), static_cast<int64_t>(p), f_, 1);
      window.push_back(cached(k));
    }
    if (compressor_) {
      for (const Row& row : compressor_->rows(u)) compressed.push_back(cached(row));
    }
    std::vector<std::vector<size_t>> chosen(u.size());
    if (indexer_) chosen = indexer_->selected(u, qr);
    std::vector<Row> out;
    for (size_t p = 0; p < u.size(); ++p) {
      std::vector<const Row*> keys;
      const auto W = static_cast<size_t>(config_.sliding_window);
      for (size_t t = p + 1 > W ? p + 1 - W : 0; t <= p; ++t) keys.push_back(&window[t]);
      keys.resize(W, nullptr);
      for (size_t j = 0; ratio_ == 128 && (j + 1) * 128 <= p + 1; ++j) keys.push_back(&compressed[j]);
      for (const size_t j : chosen[p]) keys.push_back(&compressed[j]);
      out.push_back(output(q[p], keys, static_cast<int64_t>(p)));
    }
    return out;
  }

 private:
  Row query(const Row& qr, int64_t p) const {
    const auto d = static_cast<size_t>(config_.head_dim);
    Row q = to_act<Act>(times(wq_b_, qr));
    for (size_t first = 0; first < q.size(); first += d) {
      double mean = 0;
      for (size_t i = first; i < first + d; ++i) mean += rounded<Act>(q[i] * q[i]) / static_cast<double>(d);
      const double root = rounded<Act>(1 / std::sqrt(rounded<Act>(rounded<Act>(mean) + config_.rms_norm_eps)));
      for (size_t i = first; i < first + d; ++i) q[i] = rounded<Act>(q[i] * root);
      rotate<Act>(q, first, d, p, f_, 1);
    }
    return q;
  }
  Row cached(Row k) const {
    if constexpr (!std::is_same_v<Act, float>) {
      quantise_fp8(k, k.size() - static_cast<size_t>(config_.qk_rope_head_dim), 64);
    }
    return k;
  }
  Row output(const Row& q, const std::vector<const Row*>& keys, int64_t p) const {
    const auto d = static_cast<size_t>(config_.head_dim);
    Row o;
    for (size_t h = 0; h < sink_.size(); ++h) {
      Row head = attend<Act>(&q[h * d], keys, sink_[h]);
      rotate<Act>(head, 0, d, p, f_, -1);
      o.insert(o.end(), head.begin(), head.end());
    }
    Row u;
    for (int64_t n = 0; n < wo_a_.rows; ++n) {
      u.push_back(rounded<Act>(dot(wo_a_, n, &o[static_cast<size_t>(n / config_.o_lora_rank * wo_a_.columns)])));
    }
    return times(wo_b_, linear_input(u, numerics_));
  }

  ModelConfig config_;
  Numerics numerics_;
  int64_t ratio_;
  std::vector<float> f_;
  Dense wq_a_, wq_b_, wkv_, wo_a_, wo_b_;
  Row q_norm_, kv_norm_, sink_;
  std::optional<DefinedCompressor<Act>> compressor_;
  std::optional<DefinedIndexer<Act>> indexer_;
};

}  // namespace octet::test
