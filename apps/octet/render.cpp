// `octet render`: what generate would feed the model for each line, as text and as token ids. One process, no weights.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "commands.h"
#include "engine/requests.h"
#include "engine/rows.h"
#include "io/prompts.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace octet {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdout) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File open_output(const std::string& path, bool force) {
  if (path.empty() || path == "-") return File(stdout);
  if (!force && std::filesystem::exists(path)) {
    throw Error(Code::kUsage, fmt::format("the output {} exists already; --force overwrites it", path));
  }
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) throw Error(Code::kUsage, fmt::format("cannot create the output {}", path));
  return file;
}

/// {"text","token_ids","prompt_tokens"} of one prompt; text is null without a tokenizer.
Json fed(const std::vector<TokenId>& tokens, const Tokenizer* tokenizer) {
  Json ids = Json::array();
  for (const TokenId token : tokens) ids.push(token);
  std::vector<TokenId> known = tokens;
  if (tokenizer) std::erase_if(known, [&](TokenId t) { return t >= tokenizer->vocab_size(); });
  return Json::object({{"text", tokenizer ? Json(tokenizer->decode(known, /*skip_special=*/false)) : Json()},
                       {"token_ids", std::move(ids)},
                       {"prompt_tokens", static_cast<int64_t>(tokens.size())}});
}

void append(Json& object, const Json& members) {
  for (const auto& [key, value] : members.members) object.set(key, value);
}

/// A prompt, or "prompts" when a body has several; and how it came to be.
Json rendered(const Prompt& prompt, const ItemRequests& item, const Tokenizer* tokenizer) {
  Json row = Json::object({{"id", prompt.id}, {"line", prompt.line}});
  if (prompt.inputs.size() > 1) {
    Json all = Json::array();
    for (const Request& r : item.requests) {
      if (r.choice % prompt.samples() == 0) all.push(fed(r.tokens, tokenizer));
    }
    row.set("prompts", std::move(all));
  } else {
    append(row, fed(item.requests.front().tokens, tokenizer));
  }
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  const ChatProvenance& p = item.provenance;
  append(row, Json::object({{"encoding", text(p.encoding)},
                            {"thinking", text(p.thinking)},
                            {"reasoning_effort", text(p.effort)},
                            {"special_tokens_in_text", p.special_tokens_in_text},
                            {"prompt_sha256", text(p.prompt_sha256)},
                            {"error", nullptr}}));
  return row;
}

Json failed(const Prompt& prompt, const ItemError& error) {
  return Json::object({{"id", prompt.id},
                       {"line", prompt.line},
                       {"text", nullptr},
                       {"token_ids", nullptr},
                       {"prompt_tokens", nullptr},
                       {"error", error_object(prompt, error)}});
}

}  // namespace

int run_render(const Options& options) {
  const RenderOptions& render = options.render;
  const ModelConfig config = read_model_config(options.run.model + "/config.json");
  std::unique_ptr<const Tokenizer> tokenizer;
  if (std::filesystem::exists(options.run.model + "/tokenizer.json")) {
    tokenizer = std::make_unique<const Tokenizer>(Tokenizer::from_dir(options.run.model));
  }
  std::set<std::string> warned;
  RequestLimits limits = request_limits(options.run, options.request, config, tokenizer.get());
  limits.warned = &warned;

  const std::vector<Prompt> prompts = parse_prompts(read_input(render.input), prompt_form(render.input));
  if (prompts.empty()) throw Error(Code::kInput, fmt::format("the input {} has no line", render.input));
  const File file = open_output(render.output, render.force);
  bool any_failed = false;
  for (const Prompt& prompt : prompts) {
    const auto made =
        prompt.error ? *prompt.error : generate_requests(prompt, /*index=*/0, limits, options.request, {});
    const ItemError* error = std::get_if<ItemError>(&made);
    any_failed = any_failed || error != nullptr;
    const Json row = error ? failed(prompt, *error) : rendered(prompt, std::get<ItemRequests>(made), tokenizer.get());
    const std::string line = row.dump() + "\n";
    if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size()) {
      throw Error(Code::kEnvironment, fmt::format("cannot write the output {}", render.output));
    }
  }
  if (std::fflush(file.get()) != 0) {
    throw Error(Code::kEnvironment, fmt::format("cannot write the output {}", render.output));
  }
  return any_failed ? 3 : 0;
}

}  // namespace octet
