// The inventory of a checkpoint as text for people: what `octet inspect` prints.
#pragma once

#include <string>

#include "model/checkpoint.h"

namespace octet {

/// A line per kind of tensor (layers, blocks and experts folded: "layers.*.attn.wq_b.weight x43 ..."), totals by class,
/// the bytes a rank holds at 1, 2, 4 and 8 ranks, and as the last line "N tensors, B bytes in F files".
std::string inventory_text(const Checkpoint& checkpoint);

}  // namespace octet
