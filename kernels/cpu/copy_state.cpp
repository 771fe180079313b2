// Whole slots and whole pages: which of their rows mean anything is not known here, and need not be.
#include "kernels/copy_state.h"

#include <cstring>

#include "kernels/cpu/context.h"

namespace octet::ops {
namespace {

/// data[to] = data[from], where data is an array of pieces of `bytes` each.
void copy_piece(std::byte* data, int64_t bytes, int32_t from, int32_t to) {
  if (bytes > 0 && from != to) std::memcpy(data + to * bytes, data + from * bytes, static_cast<size_t>(bytes));
}

}  // namespace

void copy_slot(cpu::Context&, const Ring& ring, int32_t from, int32_t to) {
  copy_piece(ring.data, ring.rows * ring.row_bytes, from, to);
}

void copy_page(cpu::Context&, const PagedRows& pages, int32_t from, int32_t to) {
  copy_piece(pages.data, pages.page_rows * pages.row_bytes, from, to);
}

}  // namespace octet::ops
