// Steps of one arm, fed by hand: octet ab times the model and wants the same rows from every arm, so that there is no
// scheduler in between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/batch.h"
#include "options/ab_arms.h"
#include "options/arm_fault.h"
#include "runtime/runner.h"

namespace octet {

/// Sequence i lives in slot i and owns as many pages as the others. The same calls on every rank.
class ArmSteps {
 public:
  /// `fault` is planted in the arm it names.
  ArmSteps(Runner& runner, int64_t prefill_chunk, std::optional<ArmFault> fault);

  /// From now on steps are this arm's.
  void use(const Arm& arm);
  /// The self-check of the arm in use; empty when nothing is wrong. Sequences must begin anew.
  std::string check() { return runner_.check(); }

  /// Begins sequence `slot` anew with these tokens, in chunks. On rank 0 the logits after each token from number
  /// `first_row` on are appended to `logits`. Returns the greedy token after the last.
  TokenId begin(int32_t slot, std::span<const TokenId> tokens, size_t first_row, std::vector<float>& logits);
  /// One more token of each of the sequences 0, 1, ...; the greedy tokens after them, valid until the next step.
  std::span<const TokenId> next(std::span<const TokenId> tokens);
  /// Of the last step, on rank 0.
  Mat<const float> logits() const { return runner_.logits(); }

  /// What this arm's steps have counted since use().
  CampaignCounts counts() const;
  int64_t max_seq_len() const { return runner_.capacity().max_seq_len; }

 private:
  void append_segment(BatchPlan& plan, int32_t slot, std::span<const TokenId> tokens);
  void sample_row(BatchPlan& plan, int64_t row, int64_t position) const;
  std::span<const TokenId> step(const BatchPlan& plan) const;

  Runner& runner_;
  int64_t prefill_chunk_;
  std::optional<ArmFault> fault_;
  double slow_ = 0;                 ///< of the present arm
  CampaignCounts earlier_;          ///< before it
  std::vector<int64_t> positions_;  ///< tokens fed, by slot
};

}  // namespace octet
