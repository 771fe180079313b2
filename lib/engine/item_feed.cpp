// See item_feed.h.
#include "engine/item_feed.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace octet {
namespace {

/// The first `length` tokens of `request` as a sequence that others fork.
Request prefix_request(const Request& request, int64_t length, int64_t id, int64_t uses) {
  Request prefix;
  prefix.index = request.index;
  prefix.tokens.assign(request.tokens.begin(), request.tokens.begin() + length);
  prefix.prompt_tokens = prefix.prefill_tokens = length;
  prefix.prefix_id = id;
  prefix.prefix_uses = uses;
  return prefix;
}

}  // namespace

bool CompletedItem::is_broken() const {
  return std::any_of(choices.begin(), choices.end(),
                     [](const Completion& c) { return c.finished.reason == FinishReason::kNotFinite; });
}

ItemFeed::ItemFeed(InputLines& lines, const ItemReader& reader, const ItemIndex& index, OnError on_error)
    : lines_(lines),
      reader_(reader),
      index_(index),
      on_error_(std::move(on_error)),
      prefix_given_(static_cast<size_t>(index.groups())),
      next_prefix_(index.groups()) {}

std::vector<Request> ItemFeed::next(int64_t wanted) {
  std::vector<Request> requests;
  while (!exhausted() && static_cast<int64_t>(requests.size()) < wanted) {
    append(index_.order()[position_], requests);
    ++position_;
  }
  return requests;
}

void ItemFeed::append(int64_t index, std::vector<Request>& requests) {
  const Item& item = index_.items()[static_cast<size_t>(index)];
  ReadItem read = reader_.read(lines_.read(item.line), item.line.number, index);
  if (read.hash != item.hash) {
    throw Error(Code::kInput, fmt::format("line {} of the input has changed while the run went on", item.line.number));
  }
  if (item.state == Item::State::kRepeatedId) read.made = repeated_id(read.prompt);
  if (const ItemError* error = std::get_if<ItemError>(&read.made))
    return on_error_(index, read.prompt, *error, read.hash);

  auto& made = std::get<ItemRequests>(read.made);
  OpenItem& open = open_[index];
  open.missing = static_cast<int64_t>(made.requests.size());
  open.item.choices.resize(made.requests.size());
  open.item.hash = read.hash;
  open.item.provenance = std::move(made.provenance);
  open.item.prompt = std::move(read.prompt);
  open.item.prompt.inputs.clear();  // the requests have the tokens; messages stay, for they say what the row is
  append_with_prefixes(item, std::move(made.requests), requests);
}

/// The samples of each prompt of the line, one prompt after the other.
void ItemFeed::append_with_prefixes(const Item& item, std::vector<Request> own, std::vector<Request>& requests) {
  ItemIndex::SharedPrefix group;
  if (item.group >= 0) group = index_.shared_prefix(item.group);
  const bool shares = group.uses > 0;
  if (shares && !prefix_given_[static_cast<size_t>(item.group)]) {
    requests.push_back(prefix_request(own.front(), group.length, item.group, group.uses));
    prefix_given_[static_cast<size_t>(item.group)] = true;
  }
  const PrefixUse of_group = shares ? PrefixUse{item.group, group.length} : PrefixUse{};
  const ForkPlan forks = plan_forks(item.prompt_tokens, item.sequences, group.length);
  PrefixUse fork = of_group;
  if (item.group >= 0 && forks.through_own_prefix) {
    const int64_t length = own.front().prompt_tokens - 1;
    requests.push_back(prefix_request(own.front(), length, next_prefix_, item.sequences));
    requests.back().fork = of_group;
    fork = {next_prefix_++, length};
  }
  for (Request& r : own) {
    r.fork = fork;
    requests.push_back(std::move(r));
  }
}

void ItemFeed::observe(const SampleOrigin& origin, TokenLogprobs logprobs) {
  open_.at(origin.index).item.choices.at(static_cast<size_t>(origin.choice)).logprobs.push_back(std::move(logprobs));
}

std::optional<CompletedItem> ItemFeed::complete(Finished&& finished, const Timing& timing) {
  const auto found = open_.find(finished.index);
  require(found != open_.end(), "a completion of a line that is not running");
  OpenItem& open = found->second;
  Completion& choice = open.item.choices.at(static_cast<size_t>(finished.choice));
  choice.finished = std::move(finished);
  choice.timing = timing;
  if (--open.missing > 0) return std::nullopt;
  CompletedItem item = std::move(open.item);
  open_.erase(found);
  return item;
}

}  // namespace octet
