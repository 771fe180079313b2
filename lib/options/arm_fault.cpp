// Parsing of the test-only fault of an arm.
#include "options/arm_fault.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <system_error>

#include "base/error.h"

namespace octet {

ArmFault parse_arm_fault(std::string_view text) {
  constexpr std::string_view kSlow = "slow:";
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos) {
    throw Error(Code::kUsage, fmt::format("OCTET_TEST_ARM_FAULT: expected ARM=slow:PERCENT or ARM=FAULT as in "
                                          "OCTET_TEST_FAULT, found '{}'",
                                          text));
  }
  ArmFault fault{.arm = std::string(text.substr(0, equals))};
  const std::string_view what = text.substr(equals + 1);
  if (!what.starts_with(kSlow)) {
    fault.fault = parse_test_fault(what);
    return fault;
  }
  double percent = 0;
  const char* end = what.data() + what.size();
  const auto [stop, status] = std::from_chars(what.data() + kSlow.size(), end, percent);
  if (status != std::errc() || stop != end || !(percent > 0 && percent <= 1000)) {
    throw Error(Code::kUsage,
                fmt::format("OCTET_TEST_ARM_FAULT: expected a percentage above 0 and at most 1000 in '{}'", text));
  }
  fault.slow = percent / 100;
  return fault;
}

std::optional<ArmFault> arm_fault_from_environment() {
  if constexpr (!kTestHooks) return std::nullopt;
  const char* text = std::getenv("OCTET_TEST_ARM_FAULT");
  if (text == nullptr) return std::nullopt;
  return parse_arm_fault(text);
}

}  // namespace octet
