// The one way from a rank's share of a sum to the sum. A sub-layer returns a Partial, hc_post takes only a Reduced, and
// reduce() alone turns one into the other: a forgotten or doubled reduction does not compile.
#pragma once

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/tensor.h"
#include "comm/collectives.h"
#include "kernels/elementwise.h"
#include "kernels/quant.h"
#include "layers/step_features.h"
#include "layers/sum_checks.h"
#include "options/test_fault.h"

namespace octet {

template <class Act>
class Reduced;
class Partial;

/// Where a sum goes, in either form; made once per step.
template <class Act>
struct ReductionTarget {
  Mat<Act> rows;     ///< [T, D]
  int8::Rows codes;  ///< [T, D] and [T, D / 32]; without memory when the step's sums are not int8
};

/// The sum over the ranks, written to `out`: int8 codes when the step is large enough for --ar-int8, else rows, summed
/// in rank order in fp32 and rounded once to Act. Called twice per layer, in block(). `site` names the place for the
/// watchdog, the checks and the test-only fault hook.
template <class Ctx, class Act>
Reduced<Act> reduce(Ctx& ctx, Partial&& partial, const ReductionTarget<Act>& out, const Site& site);

/// This rank's share of a sub-layer's output, [T, D] fp32. Move-only, and only reduce() can read it.
class Partial {
 public:
  explicit Partial(Mat<float> rows) : rows_(rows) {}
  Partial(Partial&& other) noexcept : rows_(other.rows_) { other.rows_ = {}; }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;
  Partial& operator=(Partial&&) = delete;

 private:
  template <class Ctx, class Act>
  friend Reduced<Act> reduce(Ctx& ctx, Partial&& partial, const ReductionTarget<Act>& out, const Site& site);
  Mat<float> rows_;
};

/// The sum over all ranks, [T, D], equal on every rank: rows in Act, or codes with their scales. The pair cannot be
/// separated, and a reader must take both forms.
template <class Act>
class Reduced {
 public:
  /// read(Mat<const Act>) or read(const int8::Rows&).
  template <class Read>
  decltype(auto) visit(Read&& read) const {
    return std::visit(std::forward<Read>(read), form_);
  }
  bool is_int8() const { return std::holds_alternative<int8::Rows>(form_); }

 private:
  template <class Ctx, class A>
  friend Reduced<A> reduce(Ctx& ctx, Partial&& partial, const ReductionTarget<A>& out, const Site& site);
  explicit Reduced(std::variant<Mat<const Act>, int8::Rows> form) : form_(form) {}
  std::variant<Mat<const Act>, int8::Rows> form_;
};

/// Sums into codes; a fault of a test makes it 0 or 2 times.
template <class Ctx>
void reduce_to_codes(Ctx& ctx, const int8::Rows& codes, Mat<float> partial, const Site& site) {
  const int times = reductions_at(ctx.fault, site);  // 1 outside tests
  if (times == 0) ops::quantise_int8(ctx, codes, partial);
  for (int i = 0; i < times; ++i) {
    if (i > 0) ops::dequantise_int8(ctx, partial, codes);
    comm::all_reduce_int8(ctx, codes, partial, site);
  }
}

template <class Ctx, class Act>
void reduce_to_rows(Ctx& ctx, Mat<Act> rows, Mat<float> partial, const Site& site) {
  const int times = reductions_at(ctx.fault, site);  // 1 outside tests
  for (int i = 0; i < times; ++i) comm::all_reduce(ctx, partial, site);
  ops::round_to<Act>(ctx, rows, partial);
}

template <class Ctx, class Act>
Reduced<Act> reduce(Ctx& ctx, Partial&& partial, const ReductionTarget<Act>& out, const Site& site) {
  const Mat<float> rows = std::exchange(partial.rows_, {});
  require(rows.data != nullptr, "a share is summed that was summed before");
  ++ctx.counts.sums;
  if (step_features(ctx, rows.dim[0]).int8_sums) {
    ++ctx.counts.int8_sums;
    sample_health(ctx, site, rows);
    reduce_to_codes(ctx, out.codes, rows, site);
    check_codes(ctx, site, out.codes);
    return Reduced<Act>(out.codes);
  }
  reduce_to_rows<Ctx, Act>(ctx, out.rows, rows, site);
  check_rows(ctx, site, out.rows);
  return Reduced<Act>(Mat<const Act>(out.rows));
}

}  // namespace octet
