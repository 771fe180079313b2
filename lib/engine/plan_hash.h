// One number for a step's plan, by which ranks notice that they disagree before they exchange wrong data.
#pragma once

#include <cstdint>

#include "model/batch.h"

namespace octet {

/// FNV-1a-64 over every field of the plan.
uint64_t plan_hash(const BatchPlan& plan);

}  // namespace octet
