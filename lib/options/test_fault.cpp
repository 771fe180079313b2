// Parsing of the test-only reduction fault.
#include "options/test_fault.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/error.h"

namespace octet {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw Error(Code::kUsage, fmt::format("OCTET_TEST_FAULT: expected skip_reduce|double_reduce:<layer>.<attn|ffn> or "
                                        "corrupt_replica:<layer>.<attn|ffn>@<rank>, found '{}'",
                                        text));
}

/// Cuts `text` at the first `mark`: what stands before it, and `text` becomes what follows.
std::optional<std::string_view> take_until(std::string_view& text, char mark) {
  const size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end + 1);
  return head;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= 0;
}

std::optional<TestFault::Kind> kind_of(std::string_view word) {
  if (word == "skip_reduce") return TestFault::Kind::kSkipReduce;
  if (word == "double_reduce") return TestFault::Kind::kDoubleReduce;
  if (word == "corrupt_replica") return TestFault::Kind::kCorruptReplica;
  return std::nullopt;
}

}  // namespace

TestFault parse_test_fault(std::string_view text) {
  std::string_view rest = text;
  const auto word = take_until(rest, ':');
  const auto kind = word ? kind_of(*word) : std::nullopt;
  const auto layer = take_until(rest, '.');
  if (!kind || !layer) refuse(text);
  TestFault fault{.kind = *kind, .site = {}};
  if (!read_number(*layer, fault.site.layer)) refuse(text);
  std::string_view half = rest;
  if (fault.kind == TestFault::Kind::kCorruptReplica) {
    const auto before = take_until(rest, '@');
    if (!before || !read_number(rest, fault.rank)) refuse(text);
    half = *before;
  }
  if (half != "attn" && half != "ffn") refuse(text);
  fault.site.kind = half == "attn" ? Site::Kind::kAttn : Site::Kind::kFfn;
  return fault;
}

std::string site_text(const Site& site) {
  return fmt::format("layer {}, {}", site.layer, site.kind == Site::Kind::kAttn ? "attn" : "ffn");
}

std::optional<TestFault> test_fault_from_environment() {
  if constexpr (!kTestHooks) return std::nullopt;
  const char* text = std::getenv("OCTET_TEST_FAULT");
  if (text == nullptr) return std::nullopt;
  return parse_test_fault(text);
}

}  // namespace octet
