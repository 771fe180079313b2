// Token ids to residual streams.
#pragma once

#include "comm/collectives.h"
#include "kernels/embedding.h"
#include "kernels/hyper_connection.h"
#include "layers/hyper_connection.h"
#include "model/weights.h"

namespace octet {

/// h[t,i] = embed[token t] for every stream i.   Source: V4 model.py, Transformer.forward.
template <class Ctx, class Act>
void embed(Ctx& ctx, Streams<Act>& s, Vec<const int32_t> tokens, Mat<const bf16> table) {
  ops::embedding<Act>(ctx, s.u, tokens, table, comm::rank(ctx) * table.dim[0]);
  comm::all_reduce(ctx, s.u);
  ops::hc_expand<Act>(ctx, s.h, s.u);
}

}  // namespace octet
