// See item_index.h. Prompts are not kept: tokens are made again when a line's turn comes.
#include "engine/item_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "base/error.h"

namespace octet {
namespace {

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

std::string describe(const ItemError& error, int64_t line) {
  return fmt::format("line {}: {} ({})", line, error.message, error.code);
}

}  // namespace

uint64_t line_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

ItemError repeated_id(const Prompt& prompt) {
  constexpr size_t kLongest = 60;
  std::string id = id_text(prompt.id);
  if (id.size() > kLongest) id = replace_invalid_utf8(id.substr(0, kLongest)) + "...";
  return {"duplicate_custom_id", fmt::format("the id {} stands on an earlier line", id), {}, {}};
}

std::string hash_text(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

ForkPlan plan_forks(int64_t prompt_tokens, int64_t samples, int64_t group_length) {
  const int64_t own_prefix = prompt_tokens - 1;  // the last token is fed by every sample: its logits are wanted
  if (samples > 1 && own_prefix >= kShortestPrefix && own_prefix > group_length) return {1, true};
  return {samples, false};
}

ReadItem ItemReader::read(const std::string& text, int64_t line, int64_t index) const {
  ReadItem item{.prompt = parse_prompt(text, line, form_), .hash = line_hash(text), .made = ItemError{}};
  if (item.prompt.error) {
    item.made = *item.prompt.error;
  } else {
    item.made = make_(item.prompt, index);
  }
  return item;
}

ItemIndex::ItemIndex(InputLines& lines, const ItemReader& reader, const IndexOptions& options, const IsDone& is_done)
    : options_(options) {
  // Ids are compared by 64 bits of hash: for a million lines the chance of a false "repeated" is below 1e-7.
  std::unordered_set<uint64_t> ids;
  InputLine line;
  std::string text;
  while (lines.next(line, text)) {
    const auto index = static_cast<int64_t>(items_.size());
    if (is_done && is_done(index)) {
      const Json id = reader.parse(text, line.number).id;
      if (!id.is(Json::Kind::kNull)) ids.insert(line_hash(id_text(id)));
      items_.push_back({.line = line, .state = Item::State::kDone});
      ++totals_.done;
      continue;
    }
    ReadItem read = reader.read(text, line.number, index);
    Item& item = items_.emplace_back(Item{.line = line, .hash = read.hash});
    const bool has_id = !read.prompt.id.is(Json::Kind::kNull);
    if (has_id && !ids.insert(line_hash(id_text(read.prompt.id))).second) {
      item.state = Item::State::kRepeatedId;
      read.made = repeated_id(read.prompt);
    } else if (std::holds_alternative<ItemError>(read.made)) {
      item.state = Item::State::kError;
    }
    if (const ItemError* error = std::get_if<ItemError>(&read.made)) {
      if (totals_.failed++ == 0) totals_.first_error = describe(*error, line.number);
    } else {
      take_requests(item, std::get<ItemRequests>(read.made));
    }
    if (options_.max_errors && totals_.failed > *options_.max_errors) {
      throw Error(Code::kInput, fmt::format("{} of the first {} lines have errors, more than the {} that --max-errors "
                                            "or --fail-fast allow; the first is {}",
                                            totals_.failed, items_.size(), *options_.max_errors, totals_.first_error));
    }
  }
  totals_.items = static_cast<int64_t>(items_.size());
  make_order();
  plan_memory();
}

void ItemIndex::take_requests(Item& item, const ItemRequests& made) {
  const std::vector<Request>& requests = made.requests;
  item.sequences = static_cast<int32_t>(requests.size());
  totals_.sequences += item.sequences;
  for (const Request& r : requests) {
    item.prompt_tokens = std::max(item.prompt_tokens, static_cast<int32_t>(r.prompt_tokens));
    totals_.prompt_tokens += r.prompt_tokens;
    totals_.new_tokens += r.max_new_tokens;
    totals_.longest = std::max(totals_.longest, r.max_length());
    largest_pages_.push_back(pages_for(r.max_length()));
    std::push_heap(largest_pages_.begin(), largest_pages_.end(), std::greater<>());
    if (static_cast<int64_t>(largest_pages_.size()) <= options_.max_batch) continue;
    std::pop_heap(largest_pages_.begin(), largest_pages_.end(), std::greater<>());
    largest_pages_.pop_back();
  }
  const bool one_prompt = requests.front().tokens == requests.back().tokens;
  if (options_.share_prefixes && one_prompt) item.group = groups_.add(requests.front().tokens);
}

/// A group goes where its first item stands. Members of groups of one keep their places.
void ItemIndex::make_order() {
  std::vector<int32_t> first(static_cast<size_t>(groups_.size()), -1);
  std::vector<std::pair<int32_t, int32_t>> places;  // place to go to, index
  for (int32_t i = 0; i < static_cast<int32_t>(items_.size()); ++i) {
    const Item& item = items_[static_cast<size_t>(i)];
    if (item.state == Item::State::kDone) continue;
    int32_t place = i;
    if (item.group >= 0) {
      int32_t& head = first[static_cast<size_t>(item.group)];
      if (head < 0) head = i;
      place = head;
    }
    places.emplace_back(place, i);
  }
  std::sort(places.begin(), places.end());
  order_.reserve(places.size());
  for (const auto& [place, index] : places) order_.push_back(index);
}

void ItemIndex::plan_memory() {
  shared_.resize(static_cast<size_t>(groups_.size()));
  int64_t group_pages = 0, own_pages = 0;
  for (const Item& item : items_) {
    if (item.state != Item::State::kToRun || item.group < 0) continue;
    const PrefixGroups::Group& group = groups_.group(item.group);
    SharedPrefix& shared = shared_[static_cast<size_t>(item.group)];
    shared.length = group.members > 1 ? group.length : 0;
    const ForkPlan forks = plan_forks(item.prompt_tokens, item.sequences, shared.length);
    if (shared.length > 0) {
      shared.uses += forks.direct;
      group_pages = std::max(group_pages, pages_for(shared.length));
    }
    if (forks.through_own_prefix) own_pages = std::max(own_pages, pages_for(item.prompt_tokens));
  }
  prefix_slots_ = (group_pages > 0 ? 1 : 0) + (own_pages > 0 ? 1 : 0);
  const int64_t slots = std::min(options_.max_batch, totals_.sequences);
  capacity_ = {
      .slots = slots + prefix_slots_,
      .pages = std::accumulate(largest_pages_.begin(), largest_pages_.end(), int64_t{0}) + group_pages + own_pages,
      .max_seq_len = options_.max_seq_len};
}

}  // namespace octet
