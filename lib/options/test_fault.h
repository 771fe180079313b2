// The test-only hook that breaks a reduction on purpose, so that the checks which must notice can be tested. Builds
// with tests (OCTET_DEBUG) honour OCTET_TEST_FAULT; in release builds the hook is a constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octet {

/// One of a layer's two reductions.
struct Site {
  int64_t layer;
  enum class Kind { kAttn, kFfn } kind;
  bool operator==(const Site&) const = default;
};

/// Sites in the order of a step: attn before ffn.
inline size_t site_index(const Site& site) {
  return 2 * static_cast<size_t>(site.layer) + (site.kind == Site::Kind::kFfn ? 1 : 0);
}
inline Site site_at(size_t index) {
  return {static_cast<int64_t>(index / 2), index % 2 == 0 ? Site::Kind::kAttn : Site::Kind::kFfn};
}

/// skip_reduce | double_reduce : LAYER . attn|ffn, or corrupt_replica : LAYER . attn|ffn @ RANK.
struct TestFault {
  enum class Kind { kSkipReduce, kDoubleReduce, kCorruptReplica } kind;
  Site site;
  int rank = 0;  ///< whose copy of the sum is damaged
};

#ifdef OCTET_DEBUG
inline constexpr bool kTestHooks = true;
#else
inline constexpr bool kTestHooks = false;
#endif

/// Reads "skip_reduce:2.attn" or "corrupt_replica:2.attn@3". Error{kUsage} when the text is something else.
TestFault parse_test_fault(std::string_view text);

/// OCTET_TEST_FAULT in a build with tests, else nothing.
std::optional<TestFault> test_fault_from_environment();

/// How often the reduction at `site` runs: once, unless the fault is there.
inline int reductions_at(const std::optional<TestFault>& fault, const Site& site) {
  if constexpr (kTestHooks) {
    if (fault && fault->site == site) {
      if (fault->kind == TestFault::Kind::kSkipReduce) return 0;
      if (fault->kind == TestFault::Kind::kDoubleReduce) return 2;
    }
  }
  return 1;
}

/// Whether this rank's copy of the sum at `site` is to be damaged: never outside tests.
inline bool corrupts_replica(const std::optional<TestFault>& fault, const Site& site, int rank) {
  if constexpr (!kTestHooks) return false;
  return fault && fault->kind == TestFault::Kind::kCorruptReplica && fault->site == site && fault->rank == rank;
}

/// "layer 3, ffn".
std::string site_text(const Site& site);

}  // namespace octet
