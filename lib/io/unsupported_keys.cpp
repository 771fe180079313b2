// Keys that other programs obey and this one does not. Ignoring them would answer another question than the one asked,
// so they fail their line, unless their value is the one that changes nothing.
#include <fmt/core.h>

#include <array>

#include "io/line_fields.h"

namespace octet {
namespace {

constexpr unsigned kGenerating = kNativeLine | kChatBody | kCompletionBody;

struct UnsupportedKey {
  std::string_view key;
  std::string_view neutral;  ///< the value that changes nothing, as JSON; empty: null alone
  unsigned places = kGenerating;
};

constexpr std::array kUnsupported = {
    UnsupportedKey{"stream", "false"},
    UnsupportedKey{"stream_options", ""},
    UnsupportedKey{"logit_bias", "{}"},
    UnsupportedKey{"allowed_token_ids", ""},
    UnsupportedKey{"bad_words", "[]"},
    UnsupportedKey{"min_tokens", "0"},
    UnsupportedKey{"best_of", "1"},
    UnsupportedKey{"use_beam_search", "false"},
    UnsupportedKey{"length_penalty", "1"},
    UnsupportedKey{"echo", "false"},
    UnsupportedKey{"suffix", "\"\""},
    UnsupportedKey{"prompt_logprobs", ""},
    UnsupportedKey{"include_stop_str_in_output", "false"},
    UnsupportedKey{"skip_special_tokens", "true"},
    UnsupportedKey{"spaces_between_special_tokens", "true"},
    UnsupportedKey{"truncate_prompt_tokens", ""},
    UnsupportedKey{"return_token_ids", "false", kChatBody | kCompletionBody},
    UnsupportedKey{"add_special_tokens", "false", kChatBody},  // the encoding of chats has its own
    UnsupportedKey{"chat_template", ""},
    UnsupportedKey{"documents", ""},
    UnsupportedKey{"parallel_tool_calls", "true"},
    UnsupportedKey{"functions", "[]"},
    UnsupportedKey{"function_call", ""},
    UnsupportedKey{"modalities", "[\"text\"]"},
    UnsupportedKey{"audio", ""},
    UnsupportedKey{"prediction", ""},
    UnsupportedKey{"guided_json", ""},
    UnsupportedKey{"guided_regex", ""},
    UnsupportedKey{"guided_choice", ""},
    UnsupportedKey{"guided_grammar", ""},
    UnsupportedKey{"structured_outputs", ""},
    UnsupportedKey{"response_format", "{\"type\":\"text\"}", kCompletionBody},
    UnsupportedKey{"tools", "[]", kCompletionBody},
    UnsupportedKey{"messages", "", kCompletionBody},
    UnsupportedKey{"prompt", "", kChatBody},
};

bool is_neutral(const Json& value, std::string_view neutral) {
  if (value.is(Json::Kind::kNull)) return true;
  if (neutral.empty()) return false;
  const Json same = parse_json(neutral, "a neutral value");
  if (same.is(Json::Kind::kNumber)) return value.as_double() == same.as_double();  // 1 and 1.0
  return value.dump() == same.dump();
}

}  // namespace

bool read_unsupported(Prompt& prompt, LinePlace place, const std::string& key, const Json& value) {
  for (const UnsupportedKey& row : kUnsupported) {
    if (row.key != key || (row.places & place) == 0) continue;
    if (is_neutral(value, row.neutral)) return true;
    fail(prompt, "unsupported",
         row.neutral.empty() ? fmt::format("{} is not supported", key)
                             : fmt::format("{}: only {} is supported, found {}", key, row.neutral, shown(value)),
         key);
    return true;
  }
  return false;
}

}  // namespace octet
