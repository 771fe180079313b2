// Start-up proof that the layers' sums are sums: through the same reduce() as a step, with numbers whose sum is exact
// in every form, so that a missing, doubled or partial reduction cannot hide in rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/error.h"
#include "layers/reduce.h"

namespace octet {

/// What a sum of the gate was, against what it had to be.
struct GateFinding {
  Site site;
  bool is_int8 = false;
  float expected = 0, found = 0;
};

/// Rank r feeds 2^r (int8: 127 * 2^r) in one row of `width` columns; every rank must get 2^R - 1 (127 times that, from
/// code 127 and scale 2^R - 1): 255 and 32385 of 8 ranks. Returns the first value that is something else. Collective;
/// every rank finds its own.   Source: spec collectives.md 1.4 (10).
template <class Ctx, class Act>
std::optional<GateFinding> check_sum_of_powers(Ctx& ctx, int64_t width, const Site& site) {
  const auto scope = ctx.scratch_scope();
  const bool is_int8 = step_features(ctx, 1).int8_sums;
  const float unit = is_int8 ? int8::kTopCode : 1;
  Mat<float> share = ctx.template alloc<float>(1, width);
  std::fill(share.begin(), share.end(), std::ldexp(unit, comm::rank(ctx)));
  ReductionTarget<Act> out{ctx.template alloc<Act>(1, width), {}};
  if (is_int8) out.codes = {ctx.template alloc<int8_t>(1, width), ctx.template alloc<bf16>(1, width / int8::kBlock)};

  const Reduced<Act> sum = reduce(ctx, Partial(share), out, site);
  if (is_int8) {
    ops::dequantise_int8(ctx, share, out.codes);
  } else {
    std::transform(out.rows.begin(), out.rows.end(), share.begin(), [](Act v) { return static_cast<float>(v); });
  }
  const float expected = unit * (std::ldexp(1.0f, comm::ranks(ctx)) - 1);
  for (const float found : share) {
    if (found != expected) return GateFinding{site, is_int8, expected, found};
  }
  require(sum.is_int8() == is_int8, "a sum of the gate has the other form");
  return std::nullopt;
}

/// Whether each site summed exactly `times` since the communicator's counts began; the first that did not.
template <class Ctx>
std::optional<Site> check_reduction_count(const Ctx& ctx, const std::vector<Site>& sites, int64_t times) {
  for (const Site& site : sites) {
    if (ctx.comm->reductions_at(site) != times) return site;
  }
  return std::nullopt;
}

}  // namespace octet
