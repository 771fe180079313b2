// Copies of a sequence's state, for a sequence that goes on from where another one stands.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/segments.h"

namespace octet::ops {

/// ring[to, :, :] = ring[from, :, :], byte by byte; rows never written are copied as they are. A ring without rows is
/// left alone.
void copy_slot(cpu::Context&, const Ring& ring, int32_t from, int32_t to);

/// pages[to, :, :] = pages[from, :, :], byte by byte. A layer without such rows (page_rows 0) is left alone.
void copy_page(cpu::Context&, const PagedRows& pages, int32_t from, int32_t to);

}  // namespace octet::ops
