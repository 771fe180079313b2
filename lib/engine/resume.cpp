// Rows are matched by content, never by place: the input may have been reordered and the journal is in order of
// completion.
#include "engine/resume.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"

namespace octet {
namespace {

/// The id of all lines that nobody can read: such a line is known by its hash alone.
constexpr std::string_view kNoId = "null";

using Places = std::unordered_map<std::string_view, std::vector<size_t>>;  // of the items of an id, ascending

/// The item without a row yet that `row` answers. Only the first item of an id was answered; a row whose error is the
/// repeated id belongs to one of the others.
std::optional<size_t> item_of(const EarlierRow& row, const std::vector<size_t>& places,
                              std::span<const ResumeItem> items, const std::vector<std::optional<size_t>>& row_of) {
  for (size_t k = 0; k < places.size(); ++k) {
    const bool right_kind = row.id == kNoId || row.repeated_id == (k > 0);
    const bool is_free = !row_of[places[k]];
    if (right_kind && is_free && items[places[k]].input_hash == row.input_hash) return places[k];
  }
  return std::nullopt;
}

void refuse_other_input(std::span<const EarlierRow> rows, const Places& places) {
  int64_t strangers = 0;
  std::string_view first;
  for (const EarlierRow& row : rows) {
    if (row.id == kNoId || places.contains(row.id)) continue;
    if (strangers++ == 0) first = row.id;
  }
  if (strangers == 0) return;
  throw Error(Code::kUsage,
              fmt::format("{} of {} finished lines have an id that the input lacks, the first of them '{}': is it "
                          "another input? --force starts again",
                          strangers, rows.size(), first));
}

}  // namespace

ResumePlan plan_resume(std::span<const EarlierRow> rows, std::span<const ResumeItem> items, bool retry_errors) {
  Places places;
  for (size_t i = 0; i < items.size(); ++i) places[items[i].id].push_back(i);
  refuse_other_input(rows, places);

  std::vector<std::optional<size_t>> row_of(items.size());
  for (size_t r = rows.size(); r-- > 0;) {  // the last row of an item counts: an earlier one was tried again
    const auto found = places.find(rows[r].id);
    if (found == places.end()) continue;
    if (const std::optional<size_t> item = item_of(rows[r], found->second, items, row_of)) row_of[*item] = r;
  }

  ResumePlan plan;
  plan.done.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!row_of[i]) continue;
    const EarlierRow& row = rows[*row_of[i]];
    if (row.failed && retry_errors) {
      ++plan.retried;
      continue;
    }
    plan.done[i] = true;
    plan.kept.push_back({*row_of[i], static_cast<int64_t>(i)});
    if (row.failed) ++plan.failed;
  }
  for (const EarlierRow& row : rows) {
    if (row.id == kNoId || row.repeated_id) continue;
    std::vector<size_t>& of_id = places[row.id];
    if (of_id.empty() || row_of[of_id.front()]) continue;
    ++plan.changed;
    of_id.clear();  // counted once, however many rows it has
  }
  return plan;
}

std::string ResumePlan::sentence() const {
  std::string text = fmt::format("resuming: {} of {} lines are finished", kept.size(), done.size());
  if (failed > 0) text += fmt::format(", {} of them with an error (--retry-errors runs those again)", failed);
  if (retried > 0) text += fmt::format(", {} with an error are run again", retried);
  if (changed > 0) text += fmt::format(", {} have changed since and are run again", changed);
  return text + (left() == 0 ? "; nothing is left to do" : fmt::format("; {} are left", left()));
}

}  // namespace octet
