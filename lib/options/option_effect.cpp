// The one place where options are sorted.
#include "options/option_effect.h"

#include <algorithm>
#include <array>

namespace octet {
namespace {

/// `backend` is here because a device rounds in its own way. Ranks do so too, but a run may go on with another number
/// of them: that is what resuming is for.
constexpr std::array kResults = std::to_array<std::string_view>({
    "allow_special_tokens",
    "ar_int8",
    "ar_int8_min_tokens",
    "backend",
    "bos",
    "encoding",
    "ignore_model",
    "max_seq_len",
    "max_tokens",
    "numerics",
    "reasoning_effort",
    "repetition_stop",
    "replace_invalid_utf8",
    "seed",
    "strict",
    "temperature",
    "thinking",
    "top_k",
    "top_p",
});

/// `model` is here because the contents of the folder count (the fingerprint), not its name; `split`,
/// `prefill_chunk`, `max_batch` and `no_prefix_sharing` because rows do not depend on how tokens are cut into steps
/// (with `ar_int8` on they do, unless its threshold is 1); `mhc_*` because these paths are equal to the plain ones to
/// the bit.
constexpr std::array kRunning = std::to_array<std::string_view>({
    "config",
    "dry_run",
    "dump_logits",
    "dump_streams",
    "fail_fast",
    "force",
    "graph_cap",
    "input",
    "log_level",
    "max_batch",
    "max_errors",
    "mhc_post_sqrsum",
    "mhc_prenorm_shard",
    "mhc_prenorm_shard_min_tokens",
    "model",
    "no_prefix_sharing",
    "on_nan",
    "output",
    "pp",
    "prefill_chunk",
    "progress",
    "resume",
    "retry_errors",
    "selfcheck",
    "split",
    "status_file",
    "summary",
    "timeout",
    "transport",
    "unordered",
    "verify",
});

}  // namespace

std::optional<Effect> effect_of(std::string_view option) {
  const auto is_in = [option](const auto& names) {
    return std::find(names.begin(), names.end(), option) != names.end();
  };
  if (is_in(kResults)) return Effect::kResults;
  if (is_in(kRunning)) return Effect::kRunning;
  return std::nullopt;
}

}  // namespace octet
