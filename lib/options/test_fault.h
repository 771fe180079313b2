// The test-only hook that breaks a reduction on purpose, so that the checks which must notice can be tested. Builds
// with tests (OCTET_DEBUG) honour OCTET_TEST_FAULT; in release builds the hook is a constant.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet {

/// One of a layer's two reductions.
struct Site {
  int64_t layer;
  enum class Kind { kAttn, kFfn } kind;
  bool operator==(const Site&) const = default;
};

/// skip_reduce | double_reduce : LAYER . attn|ffn
struct TestFault {
  enum class Kind { kSkipReduce, kDoubleReduce } kind;
  Site site;
};

#ifdef OCTET_DEBUG
inline constexpr bool kTestHooks = true;
#else
inline constexpr bool kTestHooks = false;
#endif

/// Reads "skip_reduce:2.attn". Error{kUsage} when the text is something else.
TestFault parse_test_fault(std::string_view text);

/// OCTET_TEST_FAULT in a build with tests, else nothing.
std::optional<TestFault> test_fault_from_environment();

/// How often the reduction at `site` runs: once, unless the fault is there.
inline int reductions_at(const std::optional<TestFault>& fault, const Site& site) {
  if constexpr (kTestHooks) {
    if (fault && fault->site == site) return fault->kind == TestFault::Kind::kSkipReduce ? 0 : 2;
  }
  return 1;
}

}  // namespace octet
