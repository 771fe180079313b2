// `octet tokenize`: what the tokenizer of a model makes of texts, and texts of token ids.
#include <cstdint>
#include <limits>
#include <vector>

#include "commands.h"
#include "line_answers.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace octet {
namespace {

std::vector<int32_t> ids_member(const Json& line) {
  const Json* ids = line.find("ids");
  if (ids == nullptr || !ids->is(Json::Kind::kArray)) throw ChatError("\"ids\" must be an array");
  std::vector<int32_t> values;
  for (const Json& item : ids->items) {
    const auto id = item.as_int();
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max())
      throw ChatError("\"ids\" must hold token ids only");
    values.push_back(static_cast<int32_t>(*id));
  }
  return values;
}

}  // namespace

int run_tokenize(const Options& options) {
  const TokenizeOptions& t = options.tokenize;
  check_line_output(t.output, t.force);
  const Tokenizer tokenizer = Tokenizer::from_dir(options.run.model);
  if (t.decode) {
    return answer_lines(t.input, t.output, [&](const Json& line, int64_t) {
      return Json::object({{"text", Json(tokenizer.decode(ids_member(line), /*skip_special=*/false))}});
    });
  }
  const auto added = t.plain_text ? Tokenizer::AddedTokens::kPlainText : Tokenizer::AddedTokens::kMatch;
  return answer_lines(t.input, t.output, [&](const Json& line, int64_t) {
    Json ids = Json::array();
    for (const int32_t id : tokenizer.encode(string_member(line, "text"), added)) ids.push(Json(id));
    return Json::object({{"ids", std::move(ids)}});
  });
}

}  // namespace octet
