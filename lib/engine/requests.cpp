// The checks that need the model: vocabulary, context length, a tokenizer. Those of the line alone are in io/prompts.
#include "engine/requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace octet {
namespace {

int64_t size_of(const std::vector<TokenId>& tokens) {
  return static_cast<int64_t>(tokens.size());
}

ItemError invalid(std::string message) {
  return {"invalid_request", std::move(message), {}, {}};
}

std::optional<ItemError> vocabulary_error(const std::vector<TokenId>& tokens, const RequestLimits& limits) {
  const auto outside = std::find_if(tokens.begin(), tokens.end(), [&](TokenId t) { return t >= limits.vocab_size; });
  if (outside == tokens.end()) return std::nullopt;
  return invalid(fmt::format("token id {} is outside the vocabulary of {}", *outside, limits.vocab_size));
}

std::variant<std::vector<TokenId>, ItemError> prompt_tokens(const Prompt& prompt, const RequestLimits& limits,
                                                            Bos bos) {
  const PromptInput& input = prompt.inputs.front();
  if (input.tokens) return *input.tokens;
  if (!limits.tokenizer) return invalid("the model folder has no tokenizer.json; give prompt_token_ids");
  if (!is_valid_utf8(*input.text)) return invalid("the prompt is not valid UTF-8");
  std::vector<TokenId> tokens = limits.tokenizer->encode(*input.text);
  if (bos == Bos::kAuto && (tokens.empty() || tokens.front() != limits.bos)) tokens.insert(tokens.begin(), limits.bos);
  if (tokens.empty()) return invalid("the prompt is empty");
  return tokens;
}

}  // namespace

std::variant<Request, ItemError> generate_request(const Prompt& prompt, int64_t index, const RequestLimits& limits,
                                                  const RequestOptions& options, const SamplingDefaults& defaults) {
  if (!prompt.stop.empty() && !limits.tokenizer) {
    return invalid("the model folder has no tokenizer.json, so stop strings cannot be found");
  }
  auto tokens = prompt_tokens(prompt, limits, options.bos);
  if (const ItemError* error = std::get_if<ItemError>(&tokens)) return *error;

  Request request{.index = index, .tokens = std::get<std::vector<TokenId>>(std::move(tokens))};
  if (std::optional<ItemError> error = vocabulary_error(request.tokens, limits)) return *error;
  const int64_t length = size_of(request.tokens);
  if (length >= limits.max_seq_len) {
    return ItemError{"context_length_exceeded",
                     fmt::format("the prompt has {} tokens; with at least one to generate, the limit is {}", length,
                                 limits.max_seq_len),
                     limits.max_seq_len, length};
  }
  const int64_t room = limits.max_seq_len - length;
  request.prompt_tokens = request.prefill_tokens = length;
  request.max_new_tokens = std::min(room, prompt.max_tokens ? *prompt.max_tokens : options.max_tokens.value_or(room));
  request.sampling = sampling_of(prompt, defaults, options.seed);
  request.ignore_eos = prompt.ignore_eos;
  request.stop = prompt.stop;
  return request;
}

std::variant<Request, ItemError> score_request(const Prompt& prompt, int64_t index, const RequestLimits& limits,
                                               const ScoreOptions& options) {
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
