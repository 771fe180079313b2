// See fuzz_targets.h. Exceptions that are part of a reader's contract are caught; any other ends the process.
#include "tests/fuzz/fuzz_targets.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/prompts.h"
#include "io/safetensors.h"
#include "text/chat_parser.h"
#include "text/python_json.h"
#include "text/tokenizer.h"

namespace octet::fuzz {
namespace {

std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Bytes that no markup of a completion contains: each of them must be found in the message again.
int64_t count_data(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return std::string_view("0123456789jqxyzJQXYZ%@").find(c) != std::string_view::npos;
  });
}

}  // namespace

void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", promise);
  std::abort();
}

int tokenizer_json(const uint8_t* data, size_t size) {
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(text_of(data, size), "F");
    const std::string text = "A b\u00e9<think>12345\n\n \u4e2d<\uff5cUser\uff5c>";
    expect(tokenizer.decode(tokenizer.encode(text), /*skip_special=*/false) == text, "decode(encode(text)) == text");
  } catch (const Error& error) {
    expect(error.code() == Code::kCheckpoint, "a bad file is the checkpoint's fault");
  }
  return 0;
}

int safetensors_header(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  const size_t line_end = std::min(text.find('\n'), text.size());
  int64_t data_bytes = 0;
  std::from_chars(text.data(), text.data() + line_end, data_bytes);
  const std::string_view json = text.substr(std::min(line_end + 1, text.size()));
  try {
    const SafetensorsHeader header = parse_safetensors_header(json, std::max<int64_t>(data_bytes, 0), "F");
    int64_t end = 8 + static_cast<int64_t>(json.size());
    for (const SafetensorsEntry& entry : header.entries) {
      expect(entry.offset >= end && entry.bytes >= 0, "tensors do not overlap");
      expect(entry.bytes == tensor_bytes(entry.tensor), "bytes follow from dtype and shape");
      end = entry.offset + entry.bytes;
    }
    expect(end <= header.file_bytes, "tensors lie in the file");
  } catch (const Error& error) {
    expect(error.code() == Code::kCheckpoint, "a bad header is the checkpoint's fault");
  }
  return 0;
}

int request_line(const uint8_t* data, size_t size) {
  for (const PromptForm form : {PromptForm::kText, PromptForm::kGenerate, PromptForm::kScore}) {
    for (const Prompt& prompt : parse_prompts(text_of(data, size), form)) {
      id_text(prompt.id);
      if (prompt.error || !prompt.messages.is(Json::Kind::kArray)) continue;
      ChatRequest request;
      request.messages = prompt.messages;
      request.tools = prompt.tools;
      request.tool_choice = prompt.tool_choice;
      request.response_format = prompt.response_format;
      request.mode = ChatMode::kThinking;
      request.continue_final = prompt.continue_final;
      try {
        encode_chat(request, ChatEncoding::kV40731);
      } catch (const ChatError&) {
      }
    }
  }
  return 0;
}

int chat_parser(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const unsigned options = data[0];
  const std::string_view text = text_of(data + 1, size - 1);
  const ChatMode mode = (options & 1) != 0 ? ChatMode::kThinking : ChatMode::kChat;
  const std::vector<std::string> tools =
      (options & 4) != 0 ? std::vector<std::string>{"f", "g"} : std::vector<std::string>{};
  const ParsedMessage message = parse_completion(text, (options & 2) != 0, mode, tools, "r");
  std::string all = message.content + message.reasoning_content + message.trailing_text + message.unparsed_text;
  for (const ToolCall& call : message.tool_calls) {
    expect(is_strict_json(call.arguments), "arguments are JSON");
    expect(tools.empty() || call.name == "f" || call.name == "g", "only known tools are called");
    all += call.name + call.arguments;
  }
  expect(!message.status.empty(), "there is a status");
  expect(count_data(all) >= count_data(text), "no text is lost");
  parse_strict(text, mode);
  return 0;
}

}  // namespace octet::fuzz
