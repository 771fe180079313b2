// Memory is reserved for a whole sequence at admission, so a running sequence is never evicted and no step can fail for
// want of a page.
#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/repetition.h"

namespace octet {
namespace {

constexpr int64_t kNoStep = -1;

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

int64_t size_of(const std::vector<TokenId>& tokens) {
  return static_cast<int64_t>(tokens.size());
}

}  // namespace

Scheduler::Scheduler(const SchedulerLimits& limits, const Tokenizer* tokenizer)
    : limits_(limits),
      tokenizer_(tokenizer),
      slots_(limits.capacity.slots),
      pages_(limits.capacity.pages),
      sequences_(static_cast<size_t>(limits.capacity.slots)) {
  require(limits.capacity.slots > limits.prefix_slots && limits.prefill_chunk >= 1,
          "a scheduler without a slot or a row");
}

void Scheduler::add(Request request) {
  const int64_t tokens = size_of(request.tokens);
  require(request.prompt_tokens >= 1 && request.prompt_tokens <= tokens, "a request without a prompt");
  require(request.prefill_tokens >= 1 && request.prefill_tokens <= tokens, "prefill outside the tokens");
  require(request.max_length() <= limits_.capacity.max_seq_len, "a request longer than max_seq_len");
  require(pages_for(request.max_length()) <= pages_.size(), "a request that needs more pages than there are");
  require(request.stop.empty() || tokenizer_, "stop strings without a tokenizer");
  require(request.fork.prefix < 0 || request.fork.length < request.prefill_tokens, "a prefix as long as its user");
  waiting_.push_back(std::move(request));
}

BatchPlan Scheduler::plan() {
  BatchPlan plan;
  for (const int32_t slot : running_) {
    if (!in_slot(slot).in_prefill()) append_rows(plan, in_slot(slot), 1);
  }
  int64_t budget = limits_.prefill_chunk;
  const auto append_prefill = [&](const Sequence& s) {
    const int64_t count = std::min(budget, s.request.prefill_tokens - s.fed);
    append_rows(plan, s, count);
    budget -= count;
  };
  for (const int32_t slot : running_) {
    if (budget > 0 && in_slot(slot).in_prefill()) append_prefill(in_slot(slot));
  }
  while (budget > 0 && admit_one()) append_prefill(in_slot(running_.back()));
  return plan;
}

bool Scheduler::can_admit(const Request& request) const {
  if (slots_.available() == 0) return false;
  if (!request.is_prefix()) {
    const auto users = std::count_if(running_.begin(), running_.end(),
                                     [this](int32_t slot) { return !in_slot(slot).request.is_prefix(); });
    if (users >= limits_.capacity.slots - limits_.prefix_slots) return false;
  }
  int64_t shared = 0;
  if (request.fork.prefix >= 0) {
    if (!prefixes_.contains(request.fork.prefix)) return false;
    shared = request.fork.length / kPageTokens;
  }
  return pages_for(request.max_length()) - shared <= pages_.available();
}

std::vector<int32_t> Scheduler::reserve_pages(const Request& request) {
  std::vector<int32_t> pages;
  if (request.fork.prefix >= 0) {
    const Sequence& prefix = in_slot(prefixes_.at(request.fork.prefix).slot);
    pages.assign(prefix.pages.begin(), prefix.pages.begin() + request.fork.length / kPageTokens);
    pages_.retain(pages);
  }
  const std::vector<int32_t> own = pages_.acquire(pages_for(request.max_length()) - static_cast<int64_t>(pages.size()));
  pages.insert(pages.end(), own.begin(), own.end());
  return pages;
}

/// What the prefix has cost is booked on the first sequence that forks it: it alone has waited for it.
void Scheduler::begin_fork(Sequence& s) {
  const PrefixUse& fork = s.request.fork;
  Prefix& prefix = prefixes_.at(fork.prefix);
  const Sequence& source = in_slot(prefix.slot);
  require(source.fed == fork.length, "a fork at another length than its prefix has");
  s.fed = fork.length;
  s.fork_due = true;
  s.result.cached_tokens = prefix.used ? fork.length : source.result.cached_tokens;
  if (!prefix.used) s.result.admitted_step = source.result.admitted_step;
  prefix.used = true;
}

PlanFork Scheduler::fork_of(const Sequence& s) const {
  const PrefixUse& fork = s.request.fork;
  const Sequence& source = in_slot(prefixes_.at(fork.prefix).slot);
  PlanFork plan{.from_slot = source.slot, .to_slot = s.slot};
  const auto full = static_cast<size_t>(fork.length / kPageTokens);
  if (fork.length % kPageTokens != 0) plan.page = {source.pages[full], s.pages[full]};
  return plan;
}

void Scheduler::end_fork(const Sequence& s) {
  const auto prefix = prefixes_.find(s.request.fork.prefix);
  if (--prefix->second.uses_left > 0) return;
  free_slot(prefix->second.slot);
  prefixes_.erase(prefix);
}

bool Scheduler::admit_one() {
  // In order: a request further back that would fit does not overtake.
  if (waiting_.empty() || !can_admit(waiting_.front())) return false;
  Request request = std::move(waiting_.front());
  waiting_.pop_front();
  const int32_t slot = slots_.acquire(1).front();
  std::vector<int32_t> pages = reserve_pages(request);
  Sequence& s = sequences_[static_cast<size_t>(slot)].emplace(Sequence{.request = {},
                                                                       .tokens = std::move(request.tokens),
                                                                       .slot = slot,
                                                                       .pages = std::move(pages),
                                                                       .stops = StopMatcher(request.stop),
                                                                       .detokenizer = {},
                                                                       .counts = {},
                                                                       .result = {}});
  if (s.stops.armed()) s.detokenizer.emplace(*tokenizer_);
  if (request.sampling.penalises()) s.counts.add_prompt(s.tokens);
  s.result.index = request.index;
  s.result.choice = request.choice;
  s.result.prompt_tokens = request.prompt_tokens;
  s.result.seed = request.sampling.seed;
  s.result.admitted_step = steps_;
  s.result.first_token_step = kNoStep;
  s.request = std::move(request);
  if (s.request.fork.prefix >= 0) begin_fork(s);
  running_.push_back(slot);
  return true;
}

void Scheduler::append_rows(BatchPlan& plan, const Sequence& s, int64_t count) const {
  if (s.fork_due) plan.forks.push_back(fork_of(s));
  const int64_t first_row = plan.tokens();
  const auto from = s.tokens.begin() + s.fed;
  const auto pages = s.pages.begin();
  plan.segments.push_back({.slot = s.slot,
                           .position = s.fed,
                           .tokens = {from, from + count},
                           .pages = {pages, pages + pages_for(s.fed + count)}});
  if (s.request.is_prefix()) return;
  const int64_t first_sampled = std::max(s.fed, s.request.prompt_tokens - 1);
  for (int64_t position = first_sampled; position < s.fed + count; ++position) {
    PlanSample& sample = plan.samples.emplace_back();
    sample.row = first_row + position - s.fed;
    sample.draw = s.draws();
    sample.params = s.request.sampling;
    sample.params.position = position + 1;
    if (sample.params.penalises()) sample.counts = s.counts.list();
  }
}

std::vector<SampleOrigin> Scheduler::origins(const BatchPlan& plan) const {
  std::vector<SampleOrigin> origins;
  int64_t first_row = 0;
  for (const PlanSegment& segment : plan.segments) {
    const Sequence& s = in_slot(segment.slot);
    const int64_t end_row = first_row + size_of(segment.tokens);
    for (size_t i = origins.size(); i < plan.samples.size() && plan.samples[i].row < end_row; ++i) {
      origins.push_back({.index = s.request.index,
                         .choice = s.request.choice,
                         .position = segment.position + plan.samples[i].row - first_row,
                         .prompt_tokens = s.request.prompt_tokens,
                         .logprobs = s.request.logprobs});
    }
    first_row = end_row;
  }
  return origins;
}

int64_t Scheduler::prefill_rows(const BatchPlan& plan) const {
  int64_t rows = 0;
  for (const PlanSegment& segment : plan.segments) {
    if (in_slot(segment.slot).in_prefill()) rows += size_of(segment.tokens);
  }
  return rows;
}

std::vector<Finished> Scheduler::commit(const BatchPlan& plan, std::span<const TokenId> tokens) {
  require(tokens.size() == plan.samples.size(), "a step returned another number of tokens than were asked for");
  std::vector<int32_t> ended;
  int64_t end_row = 0;
  size_t next = 0;
  for (const PlanSegment& segment : plan.segments) {
    Sequence& s = in_slot(segment.slot);
    require(segment.position == s.fed, "a plan is committed that is not the last one");
    if (std::exchange(s.fork_due, false)) end_fork(s);
    s.fed += size_of(segment.tokens);
    end_row += size_of(segment.tokens);
    if (s.request.is_prefix()) {
      if (!s.in_prefill()) keep_prefix(segment.slot);
      continue;
    }
    bool over = !s.draws() && s.fed == size_of(s.tokens);
    for (; next < plan.samples.size() && plan.samples[next].row < end_row; ++next) {
      if (s.result.first_token_step == kNoStep) s.result.first_token_step = steps_;
      if (tokens[next] == kNotFiniteToken) {
        s.result.reason = FinishReason::kNotFinite;
        over = over || s.draws();  // a scored sequence is fed to its end, for all its rows are wanted
      } else if (plan.samples[next].draw) {
        over = take_token(s, tokens[next]);
      }
    }
    if (over) ended.push_back(segment.slot);
  }
  std::vector<Finished> finished;
  for (const int32_t slot : ended) finished.push_back(retire(slot));
  ++steps_;
  return finished;
}

bool Scheduler::take_token(Sequence& s, TokenId token) const {
  s.tokens.push_back(token);
  Finished& result = s.result;
  result.tokens.push_back(token);
  if (s.request.sampling.penalises()) s.counts.add_generated(token);
  result.reason = FinishReason::kStop;
  if (token == limits_.eos && !s.request.ignore_eos) {
    result.ended_by_eos = true;
    return true;
  }
  const std::vector<TokenId>& stop_ids = s.request.stop_token_ids;
  if (std::find(stop_ids.begin(), stop_ids.end(), token) != stop_ids.end()) {
    result.stop_token = token;
    return true;
  }
  // A model's vocabulary may be padded beyond the tokenizer's; such a token has no text.
  if (s.detokenizer && token < tokenizer_->vocab_size() && s.stops.append(s.detokenizer->append(token))) {
    result.text = s.stops.text();
    result.stop_string = *s.stops.found();
    return true;
  }
  if (repeats_itself(result.tokens, s.request.repetition_stop)) {
    result.reason = FinishReason::kRepetition;
    return true;
  }
  result.reason = FinishReason::kLength;
  return size_of(result.tokens) == s.request.max_new_tokens;
}

void Scheduler::keep_prefix(int32_t slot) {
  const Request& request = in_slot(slot).request;
  prefixes_[request.prefix_id] = {.slot = slot, .uses_left = request.prefix_uses};
  std::erase(running_, slot);
}

void Scheduler::free_slot(int32_t slot) {
  pages_.release(in_slot(slot).pages);
  slots_.release(std::vector<int32_t>{slot});
  sequences_[static_cast<size_t>(slot)].reset();
}

Finished Scheduler::retire(int32_t slot) {
  Sequence& s = in_slot(slot);
  Finished finished = std::move(s.result);
  finished.last_step = steps_;
  if (s.detokenizer && !finished.text) finished.text = s.stops.text() + s.detokenizer->flush();
  free_slot(slot);
  std::erase(running_, slot);
  return finished;
}

Scheduler::Sequence& Scheduler::in_slot(int32_t slot) {
  return const_cast<Sequence&>(std::as_const(*this).in_slot(slot));
}

const Scheduler::Sequence& Scheduler::in_slot(int32_t slot) const {
  const std::optional<Sequence>& s = sequences_.at(static_cast<size_t>(slot));
  require(s.has_value(), "a slot without a sequence");
  return *s;
}

}  // namespace octet
