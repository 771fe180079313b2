// See batch_input.h.
#include "engine/batch_input.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/error.h"

namespace octet {

ResumePlan BatchInput::match(const ItemReader& reader, std::span<const EarlierRow> earlier, bool retry_errors) {
  if (earlier.empty()) return {};
  std::vector<std::pair<std::string, std::string>> keys;
  InputLine line;
  std::string text;
  while (lines_.next(line, text)) {
    keys.emplace_back(id_text(reader.parse(text, line.number).id), hash_text(line_hash(text)));
  }
  lines_.rewind();
  std::vector<ResumeItem> items;
  items.reserve(keys.size());
  for (const auto& [id, hash] : keys) items.push_back({.id = id, .input_hash = hash});
  return plan_resume(earlier, items, retry_errors);
}

ItemIndex BatchInput::make_index(const std::string& path, const ItemReader& reader, const IndexOptions& options) {
  ItemIndex::IsDone is_done;
  if (!resume_.done.empty()) is_done = [this](int64_t index) { return resume_.done.at(static_cast<size_t>(index)); };
  ItemIndex index(lines_, reader, options, is_done);
  if (index.totals().items == 0) throw Error(Code::kInput, fmt::format("the input {} has no line", path));
  return index;
}

}  // namespace octet
