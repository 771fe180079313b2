// Rank 0's input: the lines, what an earlier run has done of them, and the index of the rest.
#pragma once

#include <span>
#include <string>

#include "engine/item_index.h"
#include "engine/resume.h"
#include "io/earlier_rows.h"
#include "io/input_lines.h"

namespace octet {

class BatchInput {
 public:
  /// Reads the input once, and once before if there are rows of an earlier run. Errors: as InputLines, plan_resume and
  /// ItemIndex; Error{kInput} for an input without a line.
  BatchInput(const std::string& path, const ItemReader& reader, const IndexOptions& options,
             std::span<const EarlierRow> earlier, bool retry_errors)
      : lines_(path), resume_(match(reader, earlier, retry_errors)), index_(make_index(path, reader, options)) {}

  InputLines& lines() { return lines_; }
  const ResumePlan& resume() const { return resume_; }
  const ItemIndex& index() const { return index_; }

 private:
  ResumePlan match(const ItemReader& reader, std::span<const EarlierRow> earlier, bool retry_errors);
  ItemIndex make_index(const std::string& path, const ItemReader& reader, const IndexOptions& options);

  InputLines lines_;
  ResumePlan resume_;
  ItemIndex index_;
};

}  // namespace octet
