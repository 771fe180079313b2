// One step on one backend: embed, blocks, head, sample. A template on the context and the activation type; each backend
// instantiates it in one file.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/copy_state.h"
#include "kernels/sample.h"
#include "layers/block.h"
#include "layers/embedding.h"
#include "layers/head.h"
#include "model/batch.h"
#include "model/kv_cache.h"
#include "runtime/runner.h"

namespace octet {

/// The plan as the arrays that ops read, in the context's memory.
template <class Ctx>
Segments upload_segments(Ctx& ctx, const BatchPlan& plan) {
  std::vector<Segment> segments;
  std::vector<int32_t> tokens, pages;
  std::vector<int64_t> positions;
  size_t width = 1;
  for (const PlanSegment& s : plan.segments) width = std::max(width, s.pages.size());
  for (const PlanSegment& s : plan.segments) {
    const auto count = static_cast<int64_t>(s.tokens.size());
    segments.push_back({static_cast<int64_t>(tokens.size()), count, s.position, s.slot});
    for (int64_t i = 0; i < count; ++i) positions.push_back(s.position + i);
    tokens.insert(tokens.end(), s.tokens.begin(), s.tokens.end());
    pages.insert(pages.end(), s.pages.begin(), s.pages.end());
    pages.resize(segments.size() * width, -1);
  }
  Segments view;
  view.segments = ctx.upload(segments);
  view.tokens = ctx.upload(tokens);
  view.positions = ctx.upload(positions);
  view.pages = {ctx.upload(pages).data, static_cast<int64_t>(segments.size()), static_cast<int64_t>(width)};
  view.host = view.segments;
  return view;
}

/// Error{kInternal} when the plan breaks its contract (model/batch.h).
void check_plan(const BatchPlan& plan, const ModelConfig& config, const RunnerCapacity& capacity);

/// The model on one backend. Act is bf16, or float with --numerics exact.
template <class Ctx, class Act>
class Model {
 public:
  Model(ModelConfig config, ModelWeights weights, KvCache cache)
      : config_(std::move(config)), weights_(std::move(weights)), cache_(std::move(cache)) {}

  /// Runs the plan's rows through the decoder; logits of its samples go to `logits` ([samples, V] on rank 0, else
  /// empty). tap may be null.
  void forward(Ctx& ctx, const BatchPlan& plan, Mat<float> logits, const StreamTap& tap) {
    const auto scope = ctx.scratch_scope();
    for (const PlanFork& f : plan.forks) fork(ctx, f);
    const Segments batch = upload_segments(ctx, plan);
    Streams<Act> h = make_streams<Ctx, Act>(ctx, plan.tokens(), config_);
    Carry<Act> carry = embed(ctx, h, batch.tokens, weights_.embed);
    for (int64_t l = 0; l < config_.num_hidden_layers; ++l) {
      carry =
          block(ctx, h, std::move(carry), weights_.layers[static_cast<size_t>(l)], config_, batch, cache_.layer(l), l);
      if (tap) {
        post(ctx, h, std::exchange(carry, {}));
        const auto tap_scope = ctx.scratch_scope();
        tap("layer" + std::to_string(l), ctx.to_host(Cube<const Act>(h.h)));
      }
    }
    post(ctx, h, std::move(carry));

    if (plan.samples.empty()) return;
    std::vector<int64_t> rows;
    for (const PlanSample& s : plan.samples) rows.push_back(s.row);
    head<Ctx, Act>(ctx, logits, h.h, ctx.upload(rows), weights_, config_);
  }

 private:
  /// The whole state of a sequence: every layer's rings, and the page that both sequences write to from here on.
  void fork(Ctx& ctx, const PlanFork& f) {
    for (int64_t l = 0; l < config_.num_hidden_layers; ++l) {
      const KvLayer& layer = cache_.layer(l);
      for (const Ring* ring : {&layer.window, &layer.raw, &layer.index_raw}) {
        ops::copy_slot(ctx, *ring, f.from_slot, f.to_slot);
      }
      if (!f.page) continue;
      for (const PagedRows* pages : {&layer.compressed, &layer.index}) {
        ops::copy_page(ctx, *pages, f.page->first, f.page->second);
      }
    }
  }

  ModelConfig config_;
  ModelWeights weights_;
  KvCache cache_;
};

}  // namespace octet
