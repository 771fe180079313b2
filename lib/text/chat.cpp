// Renders turns. Everything the template says is split at its control tokens, everything a message says is one text:
// this file is the only place that decides which is which.
#include "text/chat.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/chat_markup.h"
#include "text/chat_template.h"
#include "text/chat_turns.h"
#include "text/python_json.h"

namespace octet {
namespace {

/// Collects the parts of a prompt; texts that follow one another become one part.
class PromptWriter {
 public:
  /// Text of a message: never a control token, whatever it looks like.
  PromptWriter& data(std::string_view text) {
    if (text.empty()) return *this;
    if (parts_.empty() || parts_.back().control) parts_.emplace_back();
    parts_.back().text += text;
    return *this;
  }
  PromptWriter& control(std::string_view token) {
    parts_.push_back({std::string(token), true});
    return *this;
  }
  /// Text of the encoding itself, in which these three are the control tokens they look like.
  PromptWriter& fixed(std::string_view text) {
    while (!text.empty()) {
      size_t begin = text.npos;
      std::string_view token;
      for (const std::string_view candidate : {kDsml, kThinkStart, kThinkEnd}) {
        const size_t found = text.find(candidate);
        if (found >= begin) continue;
        begin = found;
        token = candidate;
      }
      data(text.substr(0, begin));
      if (begin == text.npos) break;
      control(token);
      text.remove_prefix(begin + token.size());
    }
    return *this;
  }

  std::vector<PromptPart> take() { return std::move(parts_); }

 private:
  std::vector<PromptPart> parts_;
};

std::string_view effort_text(const std::string& effort, ChatEncoding encoding) {
  if (effort != "" && effort != "low" && effort != "high" && effort != "max") {
    throw ChatError(fmt::format("reasoning effort \"{}\": expected low, high or max", effort));
  }
  const bool first = encoding == ChatEncoding::kV4;
  if (effort == "max") return first ? kAbsoluteMaximumEffort : kBeyondMaximumEffort;
  if (effort == "high" && !first) return kAbsoluteMaximumEffort;
  return "";
}

bool is_user_side(ChatRole role) {
  return role == ChatRole::kUser || role == ChatRole::kDeveloper;
}

/// Index of the last user or developer turn, -1 if there is none.
int64_t last_user_turn(const std::vector<ChatTurn>& turns) {
  auto last = static_cast<int64_t>(turns.size()) - 1;
  while (last >= 0 && !is_user_side(turns[static_cast<size_t>(last)].role)) --last;
  return last;
}

/// Renders one list of turns.
class Renderer {
 public:
  Renderer(const ChatRequest& request, std::vector<ChatTurn> turns)
      : thinking_(request.mode == ChatMode::kThinking), turns_(std::move(turns)) {
    const bool any_tools = std::any_of(turns_.begin(), turns_.end(), [](const auto& t) { return !t.tools.empty(); });
    drop_ = request.drop_thinking && !any_tools;
    if (thinking_ && drop_) drop_earlier_thoughts();
    last_ = last_user_turn(turns_);
  }

  void render(PromptWriter& out) const {
    for (size_t i = 0; i < turns_.size(); ++i) {
      render_turn(out, i);
      const bool answer_follows = i + 1 == turns_.size() || turns_[i + 1].role == ChatRole::kAssistant ||
                                  turns_[i + 1].role == ChatRole::kLatestReminder;
      if (answer_follows) render_transition(out, i);
    }
  }

 private:
  /// The reference drops the developer turns before the last user turn along with the thoughts.
  void drop_earlier_thoughts() {
    const int64_t last = last_user_turn(turns_);
    std::vector<ChatTurn> kept;
    for (size_t i = 0; i < turns_.size(); ++i) {
      const bool earlier = static_cast<int64_t>(i) < last;
      if (earlier && turns_[i].role == ChatRole::kDeveloper) continue;
      kept.push_back(std::move(turns_[i]));
      if (earlier) kept.back().reasoning.clear();
    }
    turns_ = std::move(kept);
  }

  void render_turn(PromptWriter& out, size_t i) const {
    const ChatTurn& turn = turns_[i];
    switch (turn.role) {
      case ChatRole::kSystem:
        out.data(turn.content);
        render_instructions(out, turn);
        return;
      case ChatRole::kDeveloper:
        if (turn.content.empty()) throw ChatError("a developer message without content");
        out.control(kUserToken).data(turn.content);
        render_instructions(out, turn);
        return;
      case ChatRole::kUser:
        out.control(kUserToken);
        render_blocks(out, turn.blocks);
        return;
      case ChatRole::kLatestReminder: out.control(kLatestReminderToken).data(turn.content); return;
      case ChatRole::kAssistant: render_answer(out, i); return;
    }
  }

  static void render_instructions(PromptWriter& out, const ChatTurn& turn) {
    if (!turn.tools.empty()) {
      out.data("\n\n").fixed(kToolsHead);
      for (size_t i = 0; i < turn.tools.size(); ++i) out.data(i == 0 ? "" : "\n").data(python_json(turn.tools[i]));
      out.fixed(kToolsTail);
    }
    if (!turn.response_format.is(Json::Kind::kNull)) {
      out.data("\n\n").fixed(kResponseFormatHead).data(python_json(turn.response_format));
    }
  }

  static void render_blocks(PromptWriter& out, const std::vector<UserBlock>& blocks) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i > 0) out.data("\n\n");
      if (blocks[i].is_tool_result) {
        out.data("<tool_result>").data(blocks[i].text).data("</tool_result>");
      } else {
        out.data(blocks[i].text);
      }
    }
  }

  /// Whether the reasoning of turn i is part of the prompt.
  bool thinks(int64_t i) const { return thinking_ && (!drop_ || i >= last_); }

  void render_answer(PromptWriter& out, size_t i) const {
    const ChatTurn& turn = turns_[i];
    const bool answers_a_task = i > 0 && !turns_[i - 1].task.empty();
    if (thinks(static_cast<int64_t>(i)) && !answers_a_task) out.data(turn.reasoning).control(kThinkEnd);
    out.data(turn.content);
    if (!turn.calls.empty()) render_calls(out, turn.calls);
    if (!turn.without_eos) out.control(kEos);
  }

  static void render_calls(PromptWriter& out, const std::vector<PastCall>& calls) {
    out.data("\n\n").fixed(kCallsOpenTag).data(">\n");
    for (const PastCall& call : calls) {
      out.fixed(kInvokeOpenTag).data(" name=\"").data(call.name).data("\">\n");
      const auto& parameters = call.arguments.members;
      for (size_t i = 0; i < parameters.size(); ++i) {
        const auto& [key, value] = parameters[i];
        const bool is_string = value.is(Json::Kind::kString);
        if (i > 0) out.data("\n");
        out.fixed(kParameterOpenTag).data(" name=\"").data(key);
        out.data(is_string ? "\" string=\"true\">" : "\" string=\"false\">");
        out.data(is_string ? value.text : python_json(value)).fixed(kParameterCloseTag).data(">");
      }
      out.data("\n").fixed(kInvokeCloseTag).data(">\n");
    }
    out.fixed(kCallsCloseTag);
  }

  /// What makes the model take its turn after turn i.
  void render_transition(PromptWriter& out, size_t i) const {
    const ChatTurn& turn = turns_[i];
    const std::string_view think = thinks(static_cast<int64_t>(i)) ? kThinkStart : kThinkEnd;
    if (turn.task.empty()) {
      if (is_user_side(turn.role)) out.control(kAssistantToken).control(think);
      return;
    }
    constexpr std::array<std::string_view, 6> kTasks = {"action", "query", "authority", "domain", "title", "read_url"};
    if (std::find(kTasks.begin(), kTasks.end(), turn.task) == kTasks.end()) {
      throw ChatError(fmt::format("\"{}\" is no task of this model", turn.task));
    }
    // An action is chosen after thinking, if there is any: here the mode alone counts.
    if (turn.task == "action") out.control(kAssistantToken).control(thinking_ ? kThinkStart : kThinkEnd);
    out.control(fmt::format("<｜{}｜>", turn.task));
  }

  bool thinking_;
  bool drop_ = false;
  std::vector<ChatTurn> turns_;
  int64_t last_ = -1;
};

}  // namespace

std::string ChatPrompt::text() const {
  std::string all;
  for (const PromptPart& part : parts) all += part.text;
  return all;
}

ChatPrompt encode_chat(const ChatRequest& request, ChatEncoding encoding) {
  ChatPrompt prompt;
  const Renderer renderer(request, read_turns(request, prompt.warnings));
  PromptWriter out;
  if (request.add_bos) out.control(kBos);
  if (request.mode == ChatMode::kThinking) out.fixed(effort_text(request.effort, encoding));
  renderer.render(out);
  prompt.parts = out.take();
  return prompt;
}

std::vector<int32_t> tokenize(const ChatPrompt& prompt, const Tokenizer& tokenizer, bool allow_special_tokens) {
  std::vector<int32_t> ids;
  for (const PromptPart& part : prompt.parts) {
    if (part.control) {
      const std::optional<int32_t> id = tokenizer.added_token_id(part.text);
      if (!id) throw ChatError(fmt::format("the tokenizer has no token {}, which this chat needs", part.text));
      ids.push_back(*id);
    } else if (!allow_special_tokens) {
      const std::vector<int32_t> more = tokenizer.encode(part.text, Tokenizer::AddedTokens::kPlainText);
      ids.insert(ids.end(), more.begin(), more.end());
    }
  }
  return allow_special_tokens ? tokenizer.encode(prompt.text()) : ids;
}

int64_t count_special_in_text(const ChatPrompt& prompt, const Tokenizer& tokenizer) {
  int64_t count = 0;
  for (const PromptPart& part : prompt.parts) {
    if (!part.control) count += tokenizer.count_added_tokens(part.text);
  }
  return count;
}

std::optional<EffortChoice> effort_from_word(std::string_view word) {
  struct Row {
    std::string_view word;
    EffortChoice choice;
  };
  static const std::array<Row, 8> kRows = {{{"none", {ChatMode::kChat, ""}},
                                            {"minimal", {ChatMode::kThinking, "low"}},
                                            {"low", {ChatMode::kThinking, "low"}},
                                            {"medium", {ChatMode::kThinking, "high"}},
                                            {"high", {ChatMode::kThinking, "high"}},
                                            {"xhigh", {ChatMode::kThinking, "high"}},
                                            {"max", {ChatMode::kThinking, "max"}},
                                            {"ultra", {ChatMode::kThinking, "max"}}}};
  for (const Row& row : kRows) {
    if (row.word == word) return row.choice;
  }
  return std::nullopt;
}

}  // namespace octet
