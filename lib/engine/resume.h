// Which rows of an earlier run answer the lines of this input. Pure; rank 0 decides and tells the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/earlier_rows.h"

namespace octet {

/// A line of the input. Equal ids may occur: the first line of an id is answered, the others have an error.
struct ResumeItem {
  std::string_view id = {};          ///< id_text(); "null" for a line nobody can read
  std::string_view input_hash = {};  ///< of what the line says
};

/// What is left to do.
struct ResumePlan {
  struct Kept {
    size_t earlier = 0;  ///< index of the row
    int64_t index = 0;   ///< of the item
  };
  std::vector<Kept> kept;  ///< in order of index
  std::vector<bool> done;  ///< by item: it has a row that is kept
  int64_t failed = 0;      ///< kept rows that are errors
  int64_t retried = 0;     ///< rows with errors that are given up because of --retry-errors
  int64_t changed = 0;     ///< items whose line is another one than the row of their id answers

  int64_t left() const { return static_cast<int64_t>(done.size()) - static_cast<int64_t>(kept.size()); }
  /// One sentence for people.
  std::string sentence() const;
};

/// A row answers the item with its id and input hash; of several such rows the last one counts. Error{kUsage}: a row's
/// id is not in the input, so this is probably another input.
ResumePlan plan_resume(std::span<const EarlierRow> rows, std::span<const ResumeItem> items, bool retry_errors);

}  // namespace octet
