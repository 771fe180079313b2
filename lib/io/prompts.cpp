// Each field of a line is one row of kFields: its name, where it may stand, and the function that reads it. A reader
// answers what it expected, or nothing when it was content.
#include "io/prompts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/error.h"

namespace octet {
namespace {

constexpr std::string_view kContent = {};

std::string_view read_id(Prompt& p, const Json& v) {
  if (!v.is(Json::Kind::kString) && !v.as_int()) return "a string or an integer";
  p.id = v.is(Json::Kind::kString) ? v : Json(*v.as_int());
  return kContent;
}

std::string_view read_text(Prompt& p, const Json& v) {
  if (!v.is(Json::Kind::kString)) return "a string";
  p.inputs.push_back({.text = v.text, .tokens = {}});
  return kContent;
}

std::optional<std::vector<int32_t>> token_ids(const Json& v) {
  if (!v.is(Json::Kind::kArray)) return std::nullopt;
  std::vector<int32_t> ids;
  ids.reserve(v.items.size());
  for (const Json& item : v.items) {
    const std::optional<int64_t> id = item.as_int();
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) return std::nullopt;
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

std::string_view read_tokens(Prompt& p, const Json& v) {
  std::optional<std::vector<int32_t>> ids = token_ids(v);
  if (!ids) return "a list of token ids";
  p.inputs.push_back({.text = {}, .tokens = std::move(ids)});
  return kContent;
}

std::string_view read_continuation(Prompt& p, const Json& v) {
  std::optional<std::vector<int32_t>> ids = token_ids(v);
  if (!ids) return "a list of token ids";
  p.continuation = std::move(*ids);
  return kContent;
}

std::string_view read_max_tokens(Prompt& p, const Json& v) {
  p.max_tokens = v.as_int();
  return p.max_tokens && *p.max_tokens >= 1 ? kContent : "an integer of at least 1";
}

std::string_view read_temperature(Prompt& p, const Json& v) {
  p.temperature = v.as_double();
  return p.temperature && std::isfinite(*p.temperature) && *p.temperature >= 0 ? kContent : "a number of at least 0";
}

std::string_view read_top_p(Prompt& p, const Json& v) {
  p.top_p = v.as_double();
  return p.top_p && *p.top_p > 0 && *p.top_p <= 1 ? kContent : "a number above 0 and at most 1";
}

std::string_view read_top_k(Prompt& p, const Json& v) {
  const std::optional<int64_t> k = v.as_int();
  if (!k || *k < -1 || *k > std::numeric_limits<int32_t>::max()) return "a count (0 or -1: off)";
  p.top_k = *k < 0 ? 0 : *k;
  return kContent;
}

std::string_view read_seed(Prompt& p, const Json& v) {
  p.seed = v.as_uint();
  return p.seed ? kContent : "an integer from 0 to 2^64 - 1";
}

std::string_view read_stop(Prompt& p, const Json& v) {
  constexpr std::string_view kExpected = "a string or a list of strings, none of them empty";
  const std::vector<Json> one = {v};
  for (const Json& item : v.is(Json::Kind::kArray) ? v.items : one) {
    if (!item.is(Json::Kind::kString) || item.text.empty()) return kExpected;
    p.stop.push_back(item.text);
  }
  return kContent;
}

std::string_view read_ignore_eos(Prompt& p, const Json& v) {
  p.ignore_eos = v.boolean;
  return v.is(Json::Kind::kBool) ? kContent : "true or false";
}

enum class Place { kGenerate, kScore, kBoth };

struct Field {
  std::string_view key;
  Place place;
  std::string_view (*read)(Prompt&, const Json&);
};

constexpr std::array kFields = {
    Field{"id", Place::kBoth, read_id},
    Field{"prompt", Place::kGenerate, read_text},
    Field{"prompt_token_ids", Place::kBoth, read_tokens},
    Field{"continuation_token_ids", Place::kScore, read_continuation},
    Field{"max_tokens", Place::kGenerate, read_max_tokens},
    Field{"temperature", Place::kGenerate, read_temperature},
    Field{"top_p", Place::kGenerate, read_top_p},
    Field{"top_k", Place::kGenerate, read_top_k},
    Field{"seed", Place::kGenerate, read_seed},
    Field{"stop", Place::kGenerate, read_stop},
    Field{"ignore_eos", Place::kGenerate, read_ignore_eos},
};

const Field* find_field(std::string_view key, PromptForm form) {
  for (const Field& f : kFields) {
    const bool here = f.place == Place::kBoth || (f.place == Place::kScore) == (form == PromptForm::kScore);
    if (here && f.key == key) return &f;
  }
  return nullptr;
}

/// The first error of a line stays: later ones are often its consequence.
void fail(Prompt& p, std::string code, std::string message) {
  if (!p.error) p.error = ItemError{std::move(code), std::move(message), {}, {}};
}

/// A value as an error message shows it: short, whatever it is.
std::string shown(const Json& v) {
  constexpr size_t kLongest = 40;
  std::string text = v.dump();
  if (text.size() <= kLongest) return text;
  size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0u) == 0x80u) --cut;  // not inside a character
  return text.substr(0, cut) + "...";
}

void read_field(Prompt& p, const std::string& key, const Json& value, PromptForm form) {
  const Field* field = find_field(key, form);
  if (!field) {
    if (key == "messages") {
      return fail(p, "unsupported", "messages are not supported; give prompt or prompt_token_ids");
    }
    return fail(p, "invalid_request", fmt::format("unknown key {}", Json(key).dump()));
  }
  if (value.is(Json::Kind::kNull)) return;
  const std::string_view expected = field->read(p, value);
  if (!expected.empty()) {
    fail(p, "invalid_request", fmt::format("{}: expected {}, found {}", key, expected, shown(value)));
  }
}

void check_prompt_fields(Prompt& p, PromptForm form) {
  if (p.inputs.empty()) {
    const bool score = form == PromptForm::kScore;
    return fail(p, "invalid_request", score ? "prompt_token_ids is missing" : "prompt or prompt_token_ids is missing");
  }
  if (p.inputs.size() > 1) return fail(p, "invalid_request", "prompt and prompt_token_ids exclude each other");
  const PromptInput& input = p.inputs.front();
  if (input.text ? input.text->empty() : input.tokens->empty()) fail(p, "invalid_request", "the prompt is empty");
}

void read_line(Prompt& p, std::string_view line, PromptForm form) {
  if (form == PromptForm::kText) {
    p.inputs.push_back({.text = std::string(line), .tokens = {}});
    return;
  }
  Json object;
  try {
    object = parse_json(line, "line " + std::to_string(p.line));
  } catch (const Error& e) {
    p.id = nullptr;
    return fail(p, "invalid_json", e.what());
  }
  if (!object.is(Json::Kind::kObject)) {
    p.id = nullptr;
    return fail(p, "invalid_request", fmt::format("expected an object, found {}", shown(object)));
  }
  for (const auto& [key, value] : object.members) read_field(p, key, value, form);
  check_prompt_fields(p, form);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

std::string id_text(const Json& id) {
  return id.is(Json::Kind::kString) ? id.text : id.dump();
}

std::vector<Prompt> parse_prompts(std::string_view text, PromptForm form) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());

  std::vector<Prompt> prompts;
  std::unordered_set<std::string> ids;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (is_blank(line)) continue;

    Prompt& p = prompts.emplace_back();
    p.line = number;
    p.id = Json(number);
    read_line(p, line, form);
    if (p.id.is(Json::Kind::kNull)) continue;
    if (!ids.insert(id_text(p.id)).second) {
      fail(p, "duplicate_custom_id", fmt::format("the id {} stands on an earlier line", shown(p.id)));
    }
  }
  return prompts;
}

std::string read_input(const std::string& path) {
  const bool from_stdin = path == "-";
  const int fd = from_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto failed = [&](std::string_view what) {
    return Error(Code::kInput, fmt::format("cannot {} the input {}: {}", what, path, std::strerror(errno)));
  };
  if (fd < 0) throw failed("open");

  std::string text;
  std::vector<char> buffer(1 << 20);
  ssize_t got = 0;
  while ((got = ::read(fd, buffer.data(), buffer.size())) != 0) {
    if (got > 0) {
      text.append(buffer.data(), static_cast<size_t>(got));
    } else if (errno != EINTR) {
      const Error error = failed("read");
      if (!from_stdin) ::close(fd);
      throw error;
    }
  }
  if (!from_stdin) ::close(fd);
  return text;
}

}  // namespace octet
