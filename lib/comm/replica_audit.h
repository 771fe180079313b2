// Proof, while a run runs, that all ranks hold the same sum (--verify replicas).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "kernels/context.h"
#include "options/test_fault.h"

namespace octet::comm {

/// Collective: compares a hash of the bytes across the ranks. Error{kSelfCheck} on every rank when they differ, naming
/// the site, the form of the sum ("int8" or "rows") and the ranks that hold something else than the others.
void audit_replicas(cpu::Context&, std::initializer_list<std::span<const std::byte>> parts, const Site& site,
                    std::string_view form);

}  // namespace octet::comm
