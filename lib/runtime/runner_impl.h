// One step on one backend: embed, blocks, head, sample. A template on the context and the activation type; each backend
// instantiates it in one file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
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
#include "model/stage.h"
#include "runtime/micro_batches.h"
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

/// The model, or a stage's part of it, on one backend. Act is bf16, or float with --numerics exact.
template <class Ctx, class Act>
class Model {
 public:
  Model(ModelConfig config, const Stage& stage, ModelWeights weights, KvCache cache)
      : config_(std::move(config)), stage_(stage), weights_(std::move(weights)), cache_(std::move(cache)) {}
  const Stage& stage() const { return stage_; }

  /// Runs the plan's rows through the layers of this stage; logits of its samples go to `logits` ([samples, V] on rank
  /// 0 of the run, and of the last stage; else empty). tap may be null. Collective over all stages.
  void forward(Ctx& ctx, const BatchPlan& plan, Mat<float> logits, const StreamTap& tap) {
    const auto scope = ctx.scratch_scope();
    for (const PlanFork& f : plan.forks) fork(ctx, f);
    Cube<Act> streams = ctx.template alloc<Act>(plan.tokens(), config_.hc_mult, config_.hidden_size);
    int64_t row = 0, sample = 0;
    for (const BatchPlan& part : micro_batches(plan, ctx.campaign, comm::stages(ctx))) {
      const auto count = static_cast<int64_t>(part.samples.size());
      const Mat<float> part_logits = logits.empty() ? logits : logits.rows(sample, count);
      run_stage(ctx, part, streams.rows(row, part.tokens()), part_logits, tap);
      row += part.tokens();
      sample += count;
    }
    comm::deliver_logits(ctx, std::span<float>(logits.data, static_cast<size_t>(logits.size())));
  }

 private:
  /// One micro-batch: its streams come from the embedding or the stage before, and go to the head or the stage behind,
  /// which works on them while this one takes the next.
  void run_stage(Ctx& ctx, const BatchPlan& plan, Cube<Act> streams, Mat<float> logits, const StreamTap& tap) {
    const auto scope = ctx.scratch_scope();
    const Segments batch = upload_segments(ctx, plan);
    Streams<Act> h = make_streams<Ctx, Act>(ctx, streams, config_);
    Carry<Act> carry;
    if (stage_.is_first) {
      carry = embed(ctx, h, batch.tokens, weights_.embed);
    } else {
      comm::take_over(ctx, std::as_writable_bytes(std::span(streams.data, static_cast<size_t>(streams.size()))));
    }
    for (int64_t l = stage_.first_layer; l < stage_.end_layer(); ++l) {
      carry =
          block(ctx, h, std::move(carry), weights_.layers[static_cast<size_t>(l)], config_, batch, cache_.layer(l), l);
      if (tap) {
        post(ctx, h, std::exchange(carry, {}));
        const auto tap_scope = ctx.scratch_scope();
        tap("layer" + std::to_string(l), ctx.to_host(Cube<const Act>(h.h)));
      }
    }
    post(ctx, h, std::move(carry));
    if (!stage_.is_last) {
      return comm::hand_over(ctx, std::as_bytes(std::span(streams.data, static_cast<size_t>(streams.size()))));
    }
    if (plan.samples.empty()) return;
    std::vector<int64_t> rows;
    for (const PlanSample& s : plan.samples) rows.push_back(s.row);
    head<Ctx, Act>(ctx, logits, h.h, ctx.upload(rows), weights_, config_);
  }

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
  Stage stage_;
  ModelWeights weights_;
  KvCache cache_;
};

}  // namespace octet
