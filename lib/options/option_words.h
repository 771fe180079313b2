// The words users write for enumerators: commands, modes, back ends.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "options/options.h"

namespace octet {

constexpr std::string_view command_name(Command c) {
  switch (c) {
    case Command::kGenerate: return "generate";
    case Command::kScore: return "score";
    case Command::kRender: return "render";
    case Command::kInspect: return "inspect";
    case Command::kSynth: return "synth";
    case Command::kPlan: return "plan";
    case Command::kDoctor: return "doctor";
    case Command::kReplay: return "replay";
    case Command::kAb: return "ab";
    case Command::kBench: return "bench";
    case Command::kTokenize: return "tokenize";
    case Command::kParse: return "parse";
  }
  return "?";
}

/// An enumerator and the word users write for it.
template <class E>
using EnumWord = std::pair<std::string_view, E>;

/// The words of an enum, found by type: enum_words(Numerics{}).
constexpr std::array<EnumWord<Numerics>, 3> enum_words(Numerics) {
  return {{{"exact", Numerics::kExact}, {"weight_only", Numerics::kWeightOnly}, {"official", Numerics::kOfficial}}};
}
constexpr std::array<EnumWord<Backend>, 3> enum_words(Backend) {
  return {{{"auto", Backend::kAuto}, {"cpu", Backend::kCpu}, {"cuda", Backend::kCuda}}};
}
constexpr std::array<EnumWord<Transport>, 4> enum_words(Transport) {
  return {{{"auto", Transport::kAuto}, {"mpi", Transport::kMpi}, {"nccl", Transport::kNccl}, {"ipc", Transport::kIpc}}};
}
constexpr std::array<EnumWord<Bos>, 2> enum_words(Bos) {
  return {{{"auto", Bos::kAuto}, {"never", Bos::kNever}}};
}
constexpr std::array<EnumWord<Thinking>, 2> enum_words(Thinking) {
  return {{{"chat", Thinking::kChat}, {"thinking", Thinking::kThinking}}};
}
constexpr std::array<EnumWord<Effort>, 3> enum_words(Effort) {
  return {{{"low", Effort::kLow}, {"high", Effort::kHigh}, {"max", Effort::kMax}}};
}
constexpr std::array<EnumWord<Encoding>, 3> enum_words(Encoding) {
  return {{{"auto", Encoding::kAuto}, {"v4", Encoding::kV4}, {"0731", Encoding::k0731}}};
}
constexpr std::array<EnumWord<ProgressStyle>, 3> enum_words(ProgressStyle) {
  return {{{"auto", ProgressStyle::kAuto}, {"bar", ProgressStyle::kBar}, {"none", ProgressStyle::kNone}}};
}
constexpr std::array<EnumWord<AbMode>, 3> enum_words(AbMode) {
  return {{{"prefill", AbMode::kPrefill}, {"decode", AbMode::kDecode}, {"generate", AbMode::kGenerate}}};
}
constexpr std::array<EnumWord<BenchTarget>, 1> enum_words(BenchTarget) {
  return {{{"reduce", BenchTarget::kReduce}}};
}
constexpr std::array<EnumWord<OnNan>, 2> enum_words(OnNan) {
  return {{{"stop", OnNan::kStop}, {"item-error", OnNan::kItemError}}};
}
constexpr std::array<EnumWord<LogLevel>, 4> enum_words(LogLevel) {
  return {
      {{"debug", LogLevel::kDebug}, {"info", LogLevel::kInfo}, {"warn", LogLevel::kWarn}, {"error", LogLevel::kError}}};
}

}  // namespace octet
