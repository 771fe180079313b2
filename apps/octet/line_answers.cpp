// The input is read whole before the output is opened, so that a file may be answered into itself.
#include "line_answers.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "io/prompts.h"
#include "text/chat.h"

namespace octet {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdout) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Json error_line(const char* code, const std::string& message, int64_t number) {
  return Json::object(
      {{"error", Json::object({{"code", Json(code)}, {"message", Json(message)}, {"line", Json(number)}})}});
}

/// The answer to a line, or what is wrong with it.
Json answer_or_error(std::string_view line, int64_t number, const LineAnswer& answer) {
  Json parsed;
  try {
    parsed = parse_json(line, fmt::format("line {}", number));
  } catch (const Error& error) {
    return error_line("invalid_json", error.what(), number);
  }
  try {
    if (!parsed.is(Json::Kind::kObject)) throw ChatError("the line is no JSON object");
    return answer(parsed, number);
  } catch (const ChatError& error) {
    return error_line("invalid_request", error.what(), number);
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;
    return error_line("invalid_request", error.what(), number);
  }
}

}  // namespace

void check_line_output(const std::string& output, bool force) {
  if (output == "-" || force || !std::filesystem::exists(output)) return;
  throw Error(Code::kUsage, fmt::format("{}: exists already; --force overwrites it", output));
}

int answer_lines(const std::string& input, const std::string& output, const LineAnswer& answer) {
  const std::string text = read_input(input);
  const File file(output == "-" ? stdout : std::fopen(output.c_str(), "wb"));
  const auto require_written = [&](bool written) {
    if (!written) throw Error(Code::kEnvironment, fmt::format("{}: cannot be written", output));
  };
  require_written(file != nullptr);
  bool any_error = false;
  int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const Json answered = answer_or_error(line, number, answer);
    const Json* error = answered.find("error");
    any_error = any_error || (error != nullptr && !error->is(Json::Kind::kNull));
    const std::string out = answered.dump() + "\n";
    require_written(std::fwrite(out.data(), 1, out.size(), file.get()) == out.size());
  }
  require_written(std::fflush(file.get()) == 0);
  return any_error ? 3 : 0;
}

const std::string& string_member(const Json& line, const std::string& key) {
  const Json* value = line.find(key);
  if (value == nullptr || !value->is(Json::Kind::kString)) throw ChatError(fmt::format("\"{}\" must be a string", key));
  return value->text;
}

}  // namespace octet
