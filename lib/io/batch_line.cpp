// The line of an OpenAI batch file: an envelope around the body of a request.
#include <fmt/core.h>

#include <string>

#include "io/line_fields.h"

namespace octet {
namespace {

constexpr std::string_view kChatUrl = "/v1/chat/completions";
constexpr std::string_view kCompletionUrl = "/v1/completions";

/// The string member `key`; fails the prompt if it is missing or no string.
const std::string* required_string(const Json& object, std::string_view key, Prompt& p) {
  const std::string name(key);
  const Json* value = object.find(key);
  if (!value || value->is(Json::Kind::kNull)) {
    fail(p, "invalid_request", name + " is missing", name);
    return nullptr;
  }
  if (value->is(Json::Kind::kString)) return &value->text;
  fail(p, "invalid_request", fmt::format("{}: expected a string, found {}", key, shown(*value)), name);
  return nullptr;
}

}  // namespace

bool is_batch_line(const Json& object) {
  return object.find("custom_id") || object.find("url") || object.find("body") || object.find("method");
}

void read_batch_line(const Json& object, Prompt& p) {
  p.form = LineForm::kOpenAiChat;
  p.id = nullptr;
  if (const std::string* id = required_string(object, "custom_id", p)) p.id = *id;
  const std::string* method = required_string(object, "method", p);
  if (method && *method != "POST") {
    fail(p, "invalid_request", fmt::format("method: expected \"POST\", found {}", shown(Json(*method))), "method");
  }
  for (const auto& [key, value] : object.members) {
    if (key != "custom_id" && key != "method" && key != "url" && key != "body") p.unknown_keys.push_back(key);
  }
  const std::string* url = required_string(object, "url", p);
  if (!url) return;
  if (*url != kChatUrl && *url != kCompletionUrl) {
    return fail(p, "unsupported",
                fmt::format("url: expected {} or {}, found {}", kChatUrl, kCompletionUrl, shown(Json(*url))), "url");
  }
  const bool chat = *url == kChatUrl;
  p.form = chat ? LineForm::kOpenAiChat : LineForm::kOpenAiCompletion;
  const Json* body = object.find("body");
  if (!body || !body->is(Json::Kind::kObject)) {
    return fail(p, "invalid_request", body ? "body: expected an object, found " + shown(*body) : "body is missing",
                "body");
  }
  read_fields(*body, chat ? kChatBody : kCompletionBody, p);
}

}  // namespace octet
