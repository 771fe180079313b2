// The CPU backend's context: what an op needs besides its operands. The CPU ops are the definition of every op: the
// clearest loop that is right, fp32 sums in a fixed order, one thread per rank.
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/arena.h"
#include "base/tensor.h"
#include "options/campaign_counts.h"
#include "options/options.h"
#include "options/test_fault.h"

namespace octet::comm {
class Communicator;
}

namespace octet::cpu {

struct Context {
  Numerics numerics = Numerics::kOfficial;
  comm::Communicator* comm = nullptr;  ///< null: one rank
  CampaignOptions campaign;
  CampaignCounts counts;
  HealthBySite health;             ///< of the int8 sums
  bool audit_replicas = false;     ///< compare every sum across the ranks
  std::optional<TestFault> fault;  ///< test builds only
  Arena scratch;

  /// Uninitialised scratch, valid until the enclosing scratch_scope ends.
  template <class T, class... Dims>
  Tensor<T, static_cast<int>(sizeof...(Dims))> alloc(Dims... dims) {
    static_assert(std::is_trivially_copyable_v<T>);
    int64_t count = 1;
    ((count *= static_cast<int64_t>(dims)), ...);
    return {static_cast<T*>(scratch.allocate(count * static_cast<int64_t>(sizeof(T)))), dims...};
  }
  /// A small host array the ops of a step read (on this backend: a copy in scratch).
  template <class T>
  Vec<const T> upload(const std::vector<T>& host) {
    Vec<T> copy = alloc<T>(static_cast<int64_t>(host.size()));
    if (!host.empty()) std::memcpy(copy.data, host.data(), host.size() * sizeof(T));
    return copy;
  }
  /// x as fp32 in host memory, in scratch.
  template <class Act>
  Cube<const float> to_host(Cube<const Act> x) {
    Cube<float> copy = alloc<float>(x.dim[0], x.dim[1], x.dim[2]);
    for (int64_t i = 0; i < x.size(); ++i) copy.data[i] = static_cast<float>(x.data[i]);
    return copy;
  }
  Arena::Scope scratch_scope() { return scratch.scope(); }
};

}  // namespace octet::cpu
