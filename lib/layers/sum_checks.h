// What happens beside a layer's sum: health figures, the audit of its replicas, and the hook that damages one in tests.
#pragma once

#include <cstddef>
#include <span>

#include "comm/replica_audit.h"
#include "kernels/sum_health.h"
#include "options/campaign_counts.h"
#include "options/test_fault.h"

namespace octet {

template <class T>
std::span<const std::byte> bytes_of(const Mat<T>& x) {
  return std::as_bytes(std::span(x.begin(), static_cast<size_t>(x.size())));
}

/// Before the sum: how well this rank's share can be coded.
template <class Ctx>
void sample_health(Ctx& ctx, const Site& site, Mat<const float> partial) {
  ops::sample_int8(ctx, ctx.health.at(site), partial);
}

/// After it. In test builds a fault may flip a bit of this rank's copy first.
template <class Ctx>
void check_codes(Ctx& ctx, const Site& site, const int8::Rows& sum) {
  ops::count_int8_blocks(ctx, ctx.health.at(site), sum);
  if (corrupts_replica(ctx.fault, site, comm::rank(ctx))) sum.q.data[0] ^= 1;
  if (ctx.audit_replicas) comm::audit_replicas(ctx, {bytes_of(sum.q), bytes_of(sum.scale)}, site, "int8");
}

template <class Ctx, class Act>
void check_rows(Ctx& ctx, const Site& site, Mat<Act> sum) {
  if (corrupts_replica(ctx.fault, site, comm::rank(ctx))) sum.data[0] = Act(static_cast<float>(sum.data[0]) + 1);
  if (ctx.audit_replicas) comm::audit_replicas(ctx, {bytes_of(sum)}, site, "rows");
}

}  // namespace octet
