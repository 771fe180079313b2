// See request_limits.h.
#include "engine/request_limits.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "text/encoding_profile.h"

namespace octet {
namespace {

std::optional<ChatEncoding> chat_encoding(const std::string& model_dir, Encoding flag) {
  switch (flag) {
    case Encoding::kV4: return ChatEncoding::kV4;
    case Encoding::k0731: return ChatEncoding::kV40731;
    case Encoding::kAuto: break;
  }
  const std::optional<EncodingProfile> found = find_encoding(model_dir);
  if (!found) return std::nullopt;
  return found->encoding;
}

int64_t max_seq_len(const RunOptions& run, const ModelConfig& config) {
  const int64_t limit = config.max_position_embeddings;
  const int64_t asked = run.max_seq_len.value_or(limit);
  if (asked > limit) {
    throw Error(Code::kUsage, fmt::format("--max-seq-len {}: the model's limit is {} positions", asked, limit));
  }
  return asked;
}

}  // namespace

RequestLimits request_limits(const RunOptions& run, const RequestOptions& request, const ModelConfig& config,
                             const Tokenizer* tokenizer) {
  return {.tokenizer = tokenizer,
          .vocab_size = config.vocab_size,
          .max_seq_len = max_seq_len(run, config),
          .bos = static_cast<TokenId>(config.bos_token_id),
          .encoding = chat_encoding(run.model, request.encoding),
          .model = served_name(run.model)};
}

std::string served_name(const std::string& model_dir) {
  const std::filesystem::path path = std::filesystem::absolute(model_dir).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace octet
