// One decoder layer, beside the reference's Block.forward line by line.
#pragma once

#include <utility>

#include "layers/attention.h"
#include "layers/hyper_connection.h"
#include "layers/moe.h"

namespace octet {

/// h <- layer(h), with the last sub-layer's output still pending in the returned Carry.
/// Source: V4 model.py, Block.forward.
template <class Ctx, class Act>
Carry<Act> block(Ctx& ctx, Streams<Act>& h, Carry<Act> c, const BlockWeights& w, const ModelConfig& config,
                 const Segments& batch, const KvLayer& kv, int64_t layer) {
  const Site attn_site{layer, Site::Kind::kAttn}, ffn_site{layer, Site::Kind::kFfn};
  auto p = post_pre(ctx, h, std::move(c), w.hc_attn, w.attn_norm, config, attn_site);
  Partial attn = attention<Ctx, Act>(ctx, h.partial, p.u, w.attn, config, batch, kv);
  c = {reduce(ctx, std::move(attn), h.reduced, attn_site), p.post, p.comb};

  p = post_pre(ctx, h, std::move(c), w.hc_ffn, w.ffn_norm, config, ffn_site);
  Partial ffn = moe<Ctx, Act>(ctx, h.partial, p.u, w.moe, config, batch);
  return {reduce(ctx, std::move(ffn), h.reduced, ffn_site), p.post, p.comb};
}

}  // namespace octet
