// Log-probabilities in the two forms of OpenAI's API.
#include <string>
#include <string_view>

#include "engine/row_parts.h"
#include "text/utf8.h"

namespace octet {
namespace {

/// True bytes of a token; none without a tokenizer, or for padding of the model's vocabulary.
std::string_view bytes_of(TokenId token, const Tokenizer* tokenizer) {
  if (!tokenizer || token >= tokenizer->vocab_size()) return {};
  return tokenizer->token_bytes(token, /*skip_special=*/false);
}

std::string text_of(TokenId token, const Tokenizer* tokenizer) {
  return replace_invalid_utf8(bytes_of(token, tokenizer));
}

Json entry(TokenId token, double logprob, const Tokenizer* tokenizer) {
  Json bytes = Json::array();
  for (const char c : bytes_of(token, tokenizer)) bytes.push(static_cast<int>(static_cast<unsigned char>(c)));
  return Json::object({{"token", text_of(token, tokenizer)}, {"logprob", logprob}, {"bytes", std::move(bytes)}});
}

int64_t characters(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
  return count;
}

}  // namespace

Json chat_logprobs(const Completion& completion, const Tokenizer* tokenizer) {
  Json content = Json::array();
  for (size_t i = 0; i < completion.logprobs.size(); ++i) {
    const TokenLogprobs& own = completion.logprobs[i];
    Json top = Json::array();
    for (const auto& [token, logprob] : own.top) top.push(entry(token, logprob, tokenizer));
    content.push(entry(completion.finished.tokens[i], own.logprob, tokenizer)).set("top_logprobs", std::move(top));
  }
  return Json::object({{"content", std::move(content)}});
}

Json completion_logprobs(const Completion& completion, const Tokenizer* tokenizer) {
  Json tokens = Json::array(), logprobs = Json::array(), tops = Json::array(), offsets = Json::array();
  int64_t offset = 0;
  std::optional<Detokenizer> detokenizer;  // a character of several tokens begins where the first of them does
  if (tokenizer) detokenizer.emplace(*tokenizer, /*skip_special=*/false);
  for (size_t i = 0; i < completion.logprobs.size(); ++i) {
    const TokenLogprobs& own = completion.logprobs[i];
    const TokenId token = completion.finished.tokens[i];
    const std::string text = text_of(token, tokenizer);
    tokens.push(text);
    logprobs.push(own.logprob);
    Json top = Json::object({{text, own.logprob}});
    for (const auto& [other, logprob] : own.top) {
      const std::string name = text_of(other, tokenizer);
      if (!top.find(name)) top.set(name, logprob);  // parts of characters look alike; the likelier one is shown
    }
    tops.push(std::move(top));
    offsets.push(offset);
    if (detokenizer && token < tokenizer->vocab_size()) offset += characters(detokenizer->append(token));
  }
  return Json::object({{"tokens", std::move(tokens)},
                       {"token_logprobs", std::move(logprobs)},
                       {"top_logprobs", std::move(tops)},
                       {"text_offset", std::move(offsets)}});
}

}  // namespace octet
