// The first pass over the input, on rank 0: every line is read, checked and tokenised once, and a few numbers of it are
// kept. What the run needs to know beforehand follows from them: how much there is to do, which lines have errors,
// which prompts begin alike, how much state memory suffices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/prefix_groups.h"
#include "engine/requests.h"
#include "io/input_lines.h"
#include "io/prompts.h"
#include "runtime/runner.h"

namespace octet {

/// A line of the input. 56 bytes: there may be millions.
struct Item {
  enum class State : uint8_t { kToRun, kDone, kError, kRepeatedId };
  InputLine line;
  uint64_t hash = 0;          ///< of the line's text
  int32_t group = -1;         ///< of prompts that begin alike; -1: none
  int32_t sequences = 0;      ///< completions asked for
  int32_t prompt_tokens = 0;  ///< of the longest prompt
  State state = State::kToRun;
};

/// A line as it is read: what it asks for, and the requests that follow or why there are none.
struct ReadItem {
  Prompt prompt;
  uint64_t hash = 0;
  std::variant<ItemRequests, ItemError> made;
};

/// How a line becomes requests; the same in both passes.
class ItemReader {
 public:
  using Maker = std::function<std::variant<ItemRequests, ItemError>(const Prompt&, int64_t index)>;
  ItemReader(PromptForm form, Maker make) : form_(form), make_(std::move(make)) {}

  ReadItem read(const std::string& text, int64_t line, int64_t index) const;
  /// Without making requests: the id and the hash of a line.
  Prompt parse(const std::string& text, int64_t line) const { return parse_prompt(text, line, form_); }

 private:
  PromptForm form_;
  Maker make_;
};

/// What is to be done, summed over the lines that will run.
struct RunTotals {
  int64_t items = 0;      ///< lines of the input
  int64_t done = 0;       ///< finished by an earlier run
  int64_t failed = 0;     ///< lines with errors
  int64_t sequences = 0;  ///< completions to generate
  int64_t prompt_tokens = 0;
  int64_t new_tokens = 0;  ///< at most
  int64_t longest = 0;     ///< tokens of prompt and completion of the longest sequence
  std::string first_error;
};

struct IndexOptions {
  int64_t max_batch = 1;
  int64_t max_seq_len = 0;
  bool share_prefixes = true;
  std::optional<int64_t> max_errors = {};  ///< more lines with errors end the run
};

class ItemIndex {
 public:
  /// A group of prompts that is computed once, and how many sequences begin with it.
  struct SharedPrefix {
    int64_t length = 0;
    int64_t uses = 0;  ///< 0: not worth a sequence of its own
  };
  /// Whether line `index` was finished by an earlier run. May be empty.
  using IsDone = std::function<bool(int64_t index)>;

  /// Error{kInput}: no line in the input, or more errors than IndexOptions allows.
  ItemIndex(InputLines& lines, const ItemReader& reader, const IndexOptions& options, const IsDone& is_done);

  const std::vector<Item>& items() const { return items_; }
  const RunTotals& totals() const { return totals_; }
  /// Indices of the items in the order they are to run: those with a common prefix stand together, else as in the
  /// input. Finished ones are left out.
  const std::vector<int32_t>& order() const { return order_; }
  const SharedPrefix& shared_prefix(int32_t group) const { return shared_[static_cast<size_t>(group)]; }
  int64_t groups() const { return static_cast<int64_t>(shared_.size()); }
  /// Slots and pages for `max_batch` of these sequences at a time, whichever they are, and their prefixes.
  RunnerCapacity capacity() const { return capacity_; }
  int64_t prefix_slots() const { return prefix_slots_; }

 private:
  void take_requests(Item& item, const ItemRequests& made);
  void make_order();
  void plan_memory();

  IndexOptions options_;
  std::vector<Item> items_;
  std::vector<int32_t> order_;
  std::vector<SharedPrefix> shared_;
  PrefixGroups groups_;
  RunTotals totals_;
  std::vector<int64_t> largest_pages_;  ///< a heap, smallest first: of the max_batch largest sequences
  RunnerCapacity capacity_;
  int64_t prefix_slots_ = 0;
};

/// How many sequences of an item start from its group's prefix, and whether its samples share their whole prompt
/// through a prefix of their own.
struct ForkPlan {
  int64_t direct = 0;
  bool through_own_prefix = false;
};
ForkPlan plan_forks(int64_t prompt_tokens, int64_t samples, int64_t group_length);

/// Why a line whose id an earlier line has is not run.
ItemError repeated_id(const Prompt& prompt);

/// FNV-1a, 64 bits.
uint64_t line_hash(std::string_view text);
/// 16 hexadecimal digits.
std::string hash_text(uint64_t hash);

}  // namespace octet
