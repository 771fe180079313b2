// From lines to Prompts; the keys of a line are read in line_fields.cpp, the form of batch lines in batch_line.cpp.
#include "io/prompts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/error.h"
#include "io/line_fields.h"
#include "io/line_text.h"

namespace octet {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_mark(std::string_view text) {
  return text.substr(0, kByteOrderMark.size()) == kByteOrderMark ? text.substr(kByteOrderMark.size()) : text;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

void note_problem(Prompt& p, std::string code, const std::string& problem) {
  if (problem.empty()) return;
  p.ill_formed = ItemError{std::move(code), fmt::format("line {} is not valid UTF-8: {}", p.line, problem), {}, {}};
}

void read_text_line(Prompt& p, std::string_view line) {
  RepairedText repaired = repair_utf8(line);
  note_problem(p, "invalid_request", repaired.problem);
  p.inputs.push_back({.text = std::move(repaired.text), .tokens = {}});
}

void read_json_line(Prompt& p, std::string_view line, PromptForm form) {
  const RepairedText repaired = repair_json(line);
  note_problem(p, "invalid_json", repaired.problem);
  Json object;
  try {
    object = parse_json(repaired.text, "line " + std::to_string(p.line));
  } catch (const Error& e) {
    p.id = nullptr;
    // An error wants the form of the answers around it; which form the line had, nobody can tell for sure any more.
    if (form == PromptForm::kGenerate && line.find("\"custom_id\"") != line.npos) p.form = LineForm::kOpenAiChat;
    return fail(p, "invalid_json", e.what());
  }
  if (!object.is(Json::Kind::kObject)) {
    p.id = nullptr;
    return fail(p, "invalid_request", fmt::format("expected an object, found {}", shown(object)));
  }
  if (form == PromptForm::kScore) return read_fields(object, kScoreLine, p);
  if (is_batch_line(object)) return read_batch_line(object, p);
  read_fields(object, kNativeLine, p);
}

}  // namespace

std::string id_text(const Json& id) {
  return id.is(Json::Kind::kString) ? id.text : id.dump();
}

PromptForm prompt_form(std::string_view path) {
  return path.ends_with(".txt") ? PromptForm::kText : PromptForm::kGenerate;
}

Prompt parse_prompt(std::string_view line, int64_t number, PromptForm form) {
  if (number == 1) line = without_mark(line);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  Prompt p;
  p.line = number;
  p.id = Json(number);
  if (form == PromptForm::kText) {
    read_text_line(p, line);
  } else {
    read_json_line(p, line, form);
  }
  return p;
}

std::vector<Prompt> parse_prompts(std::string_view text, PromptForm form) {
  text = without_mark(text);
  std::vector<Prompt> prompts;
  std::unordered_set<std::string> ids;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (is_blank(line)) continue;

    Prompt& p = prompts.emplace_back(parse_prompt(line, number, form));
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
