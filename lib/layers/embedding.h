// Token ids to residual streams.
#pragma once

#include "comm/collectives.h"
#include "kernels/embedding.h"
#include "layers/hyper_connection.h"
#include "model/weights.h"

namespace octet {

/// embed[token t], pending: the first layer makes the streams from it, h[t,i] = embed[token t] for every stream i.
/// Source: V4 model.py, Transformer.forward.
template <class Ctx, class Act>
Carry<Act> embed(Ctx& ctx, Streams<Act>& s, Vec<const int32_t> tokens, Mat<const bf16> table) {
  ops::embedding<Act>(ctx, s.u, tokens, table, comm::rank(ctx) * table.dim[0]);
  comm::all_reduce(ctx, s.u);
  return {.x = {}, .post = {}, .comb = {}, .embedding = s.u};
}

}  // namespace octet
