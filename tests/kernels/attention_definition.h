// The definition of sparse attention: the online softmax over blocks of 64 list entries, written out in double with the
// one rounding inside it, and variants with a defect each.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/quant.h"
#include "tests/kernels/attention_case.h"
#include "tests/support/compare.h"

namespace octet::test {

enum class AttentionForm {
  kReference,
  kRowOneTokenEarly,
  kRowOneTokenLate,
  kWindowOneLonger,
  kNoSink,
  kScaledSink,
  kUnscaledLogits,
  kUnroundedWeights,
  kRoundedDenominator,
  kBlocksOf32,
};

/// The definition's outputs of one sequence; `largest_term` is the largest weight times key element in any of them.
struct DefinedAttention {
  Array<double, 3> o;
  double largest_term = 0;
};

template <class Act>
class AttentionDefinition {
 public:
  AttentionDefinition(const AttentionCase<Act>& c, size_t sequence, AttentionForm form)
      : case_(c),
        s_(sequence),
        form_(form),
        window_(decoded(c.window_rows[s_])),
        compressed_(decoded(c.compressed[s_])) {}

  DefinedAttention run() {
    DefinedAttention out{Array<double, 3>(case_.lengths[s_], case_.shape.heads, case_.shape.head_dim)};
    for (int64_t p = 0; p < case_.lengths[s_]; ++p) {
      const std::vector<const double*> keys = list(p);
      for (int64_t h = 0; h < case_.shape.heads; ++h) attend_head(out, p, h, keys);
    }
    return out;
  }

 private:
  Array<double, 2> decoded(const Array<std::byte, 2>& rows) {
    Array<double, 2> x(rows.dim(0), case_.shape.head_dim);
    std::vector<float> row(static_cast<size_t>(case_.shape.head_dim));
    for (int64_t r = 0; r < rows.dim(0); ++r) {
      ops::unpack_kv_row<Act>(row.data(), &rows(r, 0), case_.shape.head_dim, case_.shape.rope_dim);
      std::copy(row.begin(), row.end(), &x(r, 0));
    }
    return x;
  }
  // The keys of position p in order; null where the list is masked.
  std::vector<const double*> list(int64_t p) {
    const AttentionShape& shape = case_.shape;
    std::vector<const double*> keys;
    const int64_t longer = form_ == AttentionForm::kWindowOneLonger ? 1 : 0;
    for (int64_t t = std::max(int64_t{0}, p - shape.window + 1 - longer); t <= p; ++t) keys.push_back(&window_(t, 0));
    keys.resize(std::max(keys.size(), static_cast<size_t>(shape.window)), nullptr);
    if (shape.ratio == 0) return keys;
    const int64_t shift =
        (form_ == AttentionForm::kRowOneTokenEarly ? 1 : 0) - (form_ == AttentionForm::kRowOneTokenLate ? 1 : 0);
    for (int64_t j = 0; shape.selected == 0 && j < compressed_.dim(0); ++j) {
      if ((j + 1) * shape.ratio <= p + 1 + shift) keys.push_back(&compressed_(j, 0));
    }
    for (int64_t k = 0; k < shape.selected; ++k) {
      const int32_t j = case_.selected[s_](p, k);
      keys.push_back(j < 0 ? nullptr : &compressed_(j, 0));
    }
    return keys;
  }
  void attend_head(DefinedAttention& out, int64_t p, int64_t h, const std::vector<const double*>& keys) {
    const auto dims = static_cast<size_t>(case_.shape.head_dim);
    const size_t block = form_ == AttentionForm::kBlocksOf32 ? 32 : 64;
    const double infinity = std::numeric_limits<double>::infinity();
    double m = -infinity;
    double denominator = 0;
    std::vector<double> sum(dims, 0.0);
    double largest = 0;
    for (size_t first = 0; first < keys.size(); first += block) {
      const size_t last = std::min(first + block, keys.size());
      std::vector<double> logits;
      for (size_t i = first; i < last; ++i) logits.push_back(keys[i] == nullptr ? -infinity : logit(p, h, keys[i]));
      const double m_new = std::max(m, *std::max_element(logits.begin(), logits.end()));
      const double rescale = std::exp(m - m_new);
      denominator *= rescale;
      largest *= rescale;
      for (double& v : sum) v *= rescale;
      for (size_t i = first; i < last; ++i) {
        if (keys[i] == nullptr) continue;
        const double e = std::exp(logits[i - first] - m_new);
        const double weight = form_ == AttentionForm::kUnroundedWeights ? e : rounded<Act>(e);
        denominator += form_ == AttentionForm::kRoundedDenominator ? weight : e;
        for (size_t c = 0; c < dims; ++c) {
          sum[c] += weight * keys[i][c];
          largest = std::max(largest, weight * std::fabs(keys[i][c]));
        }
      }
      m = m_new;
    }
    const double sink = as_double(case_.sink(h)) * (form_ == AttentionForm::kScaledSink ? scale() : 1);
    if (form_ != AttentionForm::kNoSink) denominator += std::exp(sink - m);
    for (size_t c = 0; c < dims; ++c) out.o(p, h, c) = sum[c] / denominator;
    out.largest_term = std::max(out.largest_term, largest / denominator);
  }
  double scale() const {
    return form_ == AttentionForm::kUnscaledLogits ? 1 : 1 / std::sqrt(static_cast<double>(case_.shape.head_dim));
  }
  double logit(int64_t p, int64_t h, const double* key) const {
    double dot = 0;
    for (int64_t c = 0; c < case_.shape.head_dim; ++c) dot += as_double(case_.q[s_](p, h, c)) * key[c];
    return dot * scale();
  }

  const AttentionCase<Act>& case_;
  size_t s_;
  AttentionForm form_;
  Array<double, 2> window_;
  Array<double, 2> compressed_;
};

template <class Act>
DefinedAttention defined_attention(const AttentionCase<Act>& c, size_t s,
                                   AttentionForm form = AttentionForm::kReference) {
  return AttentionDefinition<Act>(c, s, form).run();
}

/// fp32 logits of deviation 2 from sums over head_dim, an fp32 sum of some hundred terms: 2e-5 in all. In bf16 one
/// weight next to a tie may round the other way: 2^-8 of the largest term. That is rare: 99 of 100 results have the
/// bits of the rounded definition.
template <class Act>
testing::AssertionResult agrees(const Array<Act, 3>& got, const DefinedAttention& want) {
  constexpr bool kBf16 = std::is_same_v<Act, bf16>;
  const double flip = kBf16 ? want.largest_term * 0x1p-8 : 0;
  const testing::AssertionResult close = matches(got, want.o, {.absolute = 2e-5 + flip});
  return close ? same_rounding(got, want.o, kBf16 ? 0.01 : 1) : close;
}

}  // namespace octet::test
