// The test-only hook that makes one arm of octet ab slow or wrong, so that what ab must notice can be tested. Builds
// with tests honour OCTET_TEST_ARM_FAULT; in release builds there is none (test_fault.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "options/test_fault.h"

namespace octet {

/// ARM = slow:PERCENT | a TestFault
struct ArmFault {
  std::string arm;
  double slow = 0;  ///< of a step's duration, spent again after it
  std::optional<TestFault> fault = {};
};

/// Reads "int8=slow:30" or "int8=double_reduce:1.ffn". Error{kUsage} when the text is something else.
ArmFault parse_arm_fault(std::string_view text);

/// OCTET_TEST_ARM_FAULT in a build with tests, else nothing.
std::optional<ArmFault> arm_fault_from_environment();

}  // namespace octet
