// The one way from a rank's share of a sum to the sum. A sub-layer returns a Partial, hc_post takes only a Reduced, and
// reduce() alone turns one into the other: a forgotten or doubled reduction does not compile.
#pragma once

#include "base/tensor.h"
#include "comm/collectives.h"
#include "kernels/elementwise.h"
#include "options/test_fault.h"

namespace octet {

template <class Act>
class Reduced;
class Partial;

/// Sums the ranks' shares in rank order in fp32, rounds once to Act and writes the result to `out`. Called twice per
/// layer, in block(). `site` names the place for the watchdog and the test-only fault hook.
template <class Ctx, class Act>
Reduced<Act> reduce(Ctx& ctx, Partial&& partial, Mat<Act> out, const Site& site);

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
  friend Reduced<Act> reduce(Ctx& ctx, Partial&& partial, Mat<Act> out, const Site& site);
  Mat<float> rows_;
};

/// The sum over all ranks, [T, D] Act, equal on every rank.
template <class Act>
class Reduced {
 public:
  Mat<const Act> rows() const { return rows_; }

 private:
  template <class Ctx, class A>
  friend Reduced<A> reduce(Ctx& ctx, Partial&& partial, Mat<A> out, const Site& site);
  explicit Reduced(Mat<const Act> rows) : rows_(rows) {}
  Mat<const Act> rows_;
};

template <class Ctx, class Act>
Reduced<Act> reduce(Ctx& ctx, Partial&& partial, Mat<Act> out, const Site& site) {
  const Mat<float> rows = partial.rows_;
  partial.rows_ = {};
  const int times = reductions_at(ctx.fault, site);  // 1 outside tests
  for (int i = 0; i < times; ++i) comm::all_reduce(ctx, rows, site);
  ops::round_to<Act>(ctx, out, rows);
  return Reduced<Act>(out);
}

}  // namespace octet
