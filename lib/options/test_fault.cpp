// Parsing of the test-only reduction fault.
#include "options/test_fault.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace octet {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw Error(Code::kUsage, "OCTET_TEST_FAULT: expected skip_reduce|double_reduce:<layer>.<attn|ffn>, found '" +
                                std::string(text) + "'");
}

}  // namespace

TestFault parse_test_fault(std::string_view text) {
  const size_t colon = text.find(':'), dot = text.find('.', colon == std::string_view::npos ? 0 : colon);
  if (colon == std::string_view::npos || dot == std::string_view::npos) refuse(text);
  const std::string_view kind = text.substr(0, colon), layer = text.substr(colon + 1, dot - colon - 1);
  const std::string_view half = text.substr(dot + 1);
  TestFault fault{};
  if (kind == "skip_reduce") {
    fault.kind = TestFault::Kind::kSkipReduce;
  } else if (kind == "double_reduce") {
    fault.kind = TestFault::Kind::kDoubleReduce;
  } else {
    refuse(text);
  }
  const auto [end, error] = std::from_chars(layer.data(), layer.data() + layer.size(), fault.site.layer);
  if (error != std::errc{} || end != layer.data() + layer.size()) refuse(text);
  if (half != "attn" && half != "ffn") refuse(text);
  fault.site.kind = half == "attn" ? Site::Kind::kAttn : Site::Kind::kFfn;
  return fault;
}

std::optional<TestFault> test_fault_from_environment() {
  if constexpr (!kTestHooks) return std::nullopt;
  const char* text = std::getenv("OCTET_TEST_FAULT");
  if (text == nullptr) return std::nullopt;
  return parse_test_fault(text);
}

}  // namespace octet
