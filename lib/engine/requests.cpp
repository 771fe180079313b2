// The checks that need the model: vocabulary, context length, a tokenizer. Those of the line alone are in io/prompts.
#include "engine/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/prompt_tokens.h"

namespace octet {
namespace {

int64_t size_of(const std::vector<TokenId>& tokens) {
  return static_cast<int64_t>(tokens.size());
}

std::optional<ItemError> vocabulary_error(const std::vector<TokenId>& tokens, const RequestLimits& limits) {
  const auto outside = std::find_if(tokens.begin(), tokens.end(), [&](TokenId t) { return t >= limits.vocab_size; });
  if (outside == tokens.end()) return std::nullopt;
  return invalid(fmt::format("token id {} is outside the vocabulary of {}", *outside, limits.vocab_size));
}

std::optional<ItemError> length_error(int64_t length, const RequestLimits& limits) {
  if (length < limits.max_seq_len) return std::nullopt;
  return ItemError{"context_length_exceeded",
                   fmt::format("the prompt has {} tokens; with at least one to generate, the limit is {}", length,
                               limits.max_seq_len),
                   limits.max_seq_len, length};
}

/// What can be said before there are tokens.
std::optional<ItemError> line_error(const Prompt& prompt, const RequestLimits& limits, const RequestOptions& options) {
  if (prompt.ill_formed && !options.replace_invalid_utf8) return *prompt.ill_formed;
  for (const std::string& key : prompt.unknown_keys) {
    if (options.strict) return invalid(fmt::format("unknown key {}", Json(key).dump()), key);
    warn_once(limits, Json(key).dump(),
              fmt::format("line {}: unknown key {} is ignored", prompt.line, Json(key).dump()));
  }
  if (prompt.model && !options.ignore_model && !limits.model.empty() && *prompt.model != limits.model) {
    return invalid(fmt::format("model: expected {}, the name of the model folder, found {} (--ignore-model takes any)",
                               Json(limits.model).dump(), Json(*prompt.model).dump()),
                   "model");
  }
  if (!prompt.stop.empty() && !limits.tokenizer) {
    return invalid("the model folder has no tokenizer.json, so stop strings cannot be found", "stop");
  }
  if (std::optional<ItemError> error = vocabulary_error(prompt.stop_token_ids, limits)) {
    error->message = "stop_token_ids: " + error->message;
    error->param = "stop_token_ids";
    return error;
  }
  return std::nullopt;
}

}  // namespace

std::variant<ItemRequests, ItemError> generate_requests(const Prompt& prompt, int64_t index,
                                                        const RequestLimits& limits, const RequestOptions& options,
                                                        const SamplingDefaults& defaults) {
  if (std::optional<ItemError> error = line_error(prompt, limits, options)) return *error;
  auto made = prompt_tokens(prompt, limits, options);
  if (const ItemError* error = std::get_if<ItemError>(&made)) return *error;
  PromptTokens& tokens = std::get<PromptTokens>(made);

  ItemRequests item{.requests = {}, .provenance = std::move(tokens.provenance)};
  const ops::SampleParams sampling = sampling_of(prompt, defaults, options.seed);
  for (const std::vector<TokenId>& own : tokens.prompts) {
    if (std::optional<ItemError> error = vocabulary_error(own, limits)) return *error;
    if (std::optional<ItemError> error = length_error(size_of(own), limits)) return *error;
    const int64_t room = limits.max_seq_len - size_of(own);
    for (int64_t sample = 0; sample < prompt.samples(); ++sample) {
      Request& request = item.requests.emplace_back();
      request.index = index;
      request.choice = static_cast<int32_t>(item.requests.size()) - 1;
      request.tokens = own;
      request.prompt_tokens = request.prefill_tokens = size_of(own);
      request.max_new_tokens = std::min(room, prompt.max_tokens.value_or(options.max_tokens.value_or(room)));
      request.sampling = sampling;
      request.sampling.seed += static_cast<uint64_t>(sample);
      request.ignore_eos = prompt.ignore_eos;
      request.stop = prompt.stop;
      request.stop_token_ids = prompt.stop_token_ids;
      request.logprobs = static_cast<int32_t>(prompt.logprobs.value_or(-1));
      request.repetition_stop = options.repetition_stop;
    }
  }
  return item;
}

std::variant<Request, ItemError> score_request(const Prompt& prompt, int64_t index, const RequestLimits& limits,
                                               const ScoreOptions& options) {
  if (prompt.ill_formed) return *prompt.ill_formed;
  Request request{.index = index, .tokens = *prompt.inputs.front().tokens};
  request.prompt_tokens = size_of(request.tokens);
  request.tokens.insert(request.tokens.end(), prompt.continuation.begin(), prompt.continuation.end());
  if (std::optional<ItemError> error = vocabulary_error(request.tokens, limits)) return *error;
  const int64_t length = size_of(request.tokens);
  if (length > limits.max_seq_len) {
    return ItemError{"context_length_exceeded",
                     fmt::format("prompt and continuation have {} tokens, the limit is {}", length, limits.max_seq_len),
                     limits.max_seq_len, length};
  }
  request.prefill_tokens = options.split.value_or(request.prompt_tokens);
  if (request.prefill_tokens < 1 || request.prefill_tokens > length) {
    return invalid(fmt::format("--split {}: expected 1 to {}, the tokens of prompt and continuation",
                               request.prefill_tokens, length));
  }
  return request;
}

int64_t pages_wanted(const std::vector<Request>& requests, int64_t max_batch) {
  std::vector<int64_t> pages;
  for (const Request& r : requests) pages.push_back((r.max_length() + kPageTokens - 1) / kPageTokens);
  std::sort(pages.begin(), pages.end(), std::greater<>());
  if (static_cast<int64_t>(pages.size()) > max_batch) pages.resize(static_cast<size_t>(max_batch));
  int64_t sum = 0;
  for (const int64_t p : pages) sum += p;
  return sum;
}

}  // namespace octet
