// Which rows the next step has. No clock, no tensor and no randomness: the same requests and tokens give the same plans
// on every rank.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/id_pool.h"
#include "engine/sequence.h"
#include "engine/stop_matcher.h"
#include "engine/token_counts.h"
#include "model/batch.h"
#include "runtime/runner.h"
#include "text/tokenizer.h"

namespace octet {

struct SchedulerLimits {
  RunnerCapacity capacity;
  int64_t prefill_chunk = 0;  ///< prompt tokens in one step, at most
  TokenId eos = 0;
  int64_t prefix_slots = 0;  ///< of the capacity's slots, for prefixes only
};

/// Two queues. plan() admits from the waiting one, in order, while a slot, pages for the whole sequence and room in the
/// step are left; it gives every running sequence past its prefill one row and shares `prefill_chunk` rows among the
/// others in order of admission. commit() advances them.
///
/// A prefix is prefilled like any sequence and then keeps its slot and pages, without rows, until all that fork it have
/// done so. A request whose prefix is not there yet waits, and those behind it with it; prefixes therefore come before
/// their users, at most `prefix_slots` of them at a time.
class Scheduler {
 public:
  /// `tokenizer` may be null: then no request may have stop strings. It must outlive the scheduler.
  Scheduler(const SchedulerLimits& limits, const Tokenizer* tokenizer);

  /// Appends to the waiting queue. The request must fit the capacity when it is alone (with its prefixes).
  void add(Request request);
  bool done() const { return waiting_.empty() && running_.empty(); }
  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t running() const { return static_cast<int64_t>(running_.size()); }
  int64_t free_pages() const { return pages_.available(); }

  /// The next step: rows of sequences past their prefill first, then prefill. Calling it again before commit() gives
  /// the same plan. Not empty unless done().
  BatchPlan plan();
  /// What is behind each entry of plan.samples; before commit().
  std::vector<SampleOrigin> origins(const BatchPlan& plan) const;
  /// Rows of the plan that are prefill; before commit().
  int64_t prefill_rows(const BatchPlan& plan) const;
  /// Takes the step's tokens (one for each of plan.samples, -1 where nothing was drawn) and returns the sequences that
  /// ended, their slots and pages free again.
  std::vector<Finished> commit(const BatchPlan& plan, std::span<const TokenId> tokens);

 private:
  struct Sequence {
    Request request;
    std::vector<TokenId> tokens;  ///< the request's, then the drawn ones
    int64_t fed = 0;              ///< of these, in the cache
    int32_t slot = 0;
    std::vector<int32_t> pages;
    StopMatcher stops;
    std::optional<Detokenizer> detokenizer;  ///< when there are stop strings
    TokenCounts counts;                      ///< when there are penalties
    bool fork_due = false;                   ///< its state is to be copied before its first rows
    Finished result;

    bool in_prefill() const { return fed < request.prefill_tokens; }
    bool draws() const { return request.max_new_tokens > 0; }
  };
  /// A prefix past its prefill.
  struct Prefix {
    int32_t slot = 0;
    int64_t uses_left = 0;
    bool used = false;
  };

  bool admit_one();
  bool can_admit(const Request& request) const;
  /// Pages for the whole sequence: those it shares with its prefix, then its own.
  std::vector<int32_t> reserve_pages(const Request& request);
  void begin_fork(Sequence& s);
  PlanFork fork_of(const Sequence& s) const;
  void end_fork(const Sequence& s);
  void append_rows(BatchPlan& plan, const Sequence& s, int64_t count) const;
  /// True if the token ends the sequence.
  bool take_token(Sequence& s, TokenId token) const;
  void keep_prefix(int32_t slot);
  void free_slot(int32_t slot);
  Finished retire(int32_t slot);
  Sequence& in_slot(int32_t slot);
  const Sequence& in_slot(int32_t slot) const;

  SchedulerLimits limits_;
  const Tokenizer* tokenizer_;
  IdPool slots_, pages_;
  std::deque<Request> waiting_;
  std::vector<std::optional<Sequence>> sequences_;  ///< by slot
  std::vector<int32_t> running_;                    ///< slots in order of admission
  std::map<int64_t, Prefix> prefixes_;              ///< by id
  int64_t steps_ = 0;                               ///< committed
};

}  // namespace octet
