// What every request of a run is checked against, made from the model's folder and the flags.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "model/batch.h"
#include "model/config.h"
#include "options/options.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace octet {

struct RequestLimits {
  const Tokenizer* tokenizer = nullptr;  ///< null: prompts must be token ids and there are no stop strings
  int64_t vocab_size = 0;                ///< of the model
  int64_t max_seq_len = 0;
  TokenId bos = 0;
  std::optional<ChatEncoding> encoding = {};  ///< empty: messages cannot be encoded
  std::string model = {};                     ///< the name it is served under; empty: any name will do
  /// Warnings that were given, each of which is given once; null: nobody is warned. Shared by all requests of a run.
  std::set<std::string>* warned = nullptr;
};

/// Reads the checkpoint's encoding folder unless --encoding decides. The tokenizer may be null and must outlive the
/// limits. Error{kUsage}: --max-seq-len beyond the model; Error{kCheckpoint}: an encoding that is not known.
RequestLimits request_limits(const RunOptions& run, const RequestOptions& request, const ModelConfig& config,
                             const Tokenizer* tokenizer);

/// What a body may call the model: the name of its folder.
std::string served_name(const std::string& model_dir);

}  // namespace octet
