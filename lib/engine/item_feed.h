// The second pass over the input, on rank 0: lines are read again when the scheduler has room, become requests, and are
// held until all their completions are there.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/item_index.h"
#include "engine/rows.h"
#include "engine/sequence.h"

namespace octet {

/// A line whose completions are all there.
struct CompletedItem {
  Prompt prompt;  ///< without its texts
  uint64_t hash = 0;
  ChatProvenance provenance;
  std::vector<Completion> choices;
  /// One of them had no finite logits (--on-nan item-error).
  bool is_broken() const;
};

class ItemFeed {
 public:
  /// What to do with a line that has an error; called when its turn comes.
  using OnError = std::function<void(int64_t index, const Prompt& prompt, const ItemError& error, uint64_t hash)>;

  /// All must outlive the feed.
  ItemFeed(InputLines& lines, const ItemReader& reader, const ItemIndex& index, OnError on_error);

  /// At least `wanted` more requests unless there are no more; those of one line and the prefixes before them stay
  /// together. Error{kInput} if a line has changed since the first pass.
  std::vector<Request> next(int64_t wanted);
  bool exhausted() const { return position_ == index_.order().size(); }

  /// Log-probabilities of a token of a sequence that is running.
  void observe(const SampleOrigin& origin, TokenLogprobs logprobs);
  /// A completion; the line's item when it was the last one.
  std::optional<CompletedItem> complete(Finished&& finished, const Timing& timing);

 private:
  struct OpenItem {
    CompletedItem item;
    int64_t missing = 0;
  };
  void append(int64_t index, std::vector<Request>& requests);
  void append_with_prefixes(const Item& item, std::vector<Request> own, std::vector<Request>& requests);

  InputLines& lines_;
  const ItemReader& reader_;
  const ItemIndex& index_;
  OnError on_error_;
  size_t position_ = 0;  ///< in the index's order
  std::unordered_map<int64_t, OpenItem> open_;
  std::vector<bool> prefix_given_;  ///< by group
  int64_t next_prefix_;             ///< ids of groups come first
};

}  // namespace octet
