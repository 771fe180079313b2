// Eight bytes at a time: loading reads every weight once, and the check must not be what takes the time.
#include "model/value_check.h"

#include <algorithm>
#include <cstring>

namespace octet {
namespace {

/// An element is bad when all bits of `mask` are set in it: adding `one` then carries into `carry`, the bit above the
/// mask (cleared beforehand), and into no other element. With `needs_top` that bit must be set in the element as well.
struct AllOnes {
  uint64_t mask, one, carry;
  bool needs_top;
};

constexpr uint64_t every(uint64_t element, int bits) {
  uint64_t word = 0;
  for (int i = 0; i < 64; i += bits) word |= element << i;
  return word;
}

std::optional<AllOnes> pattern(DType dtype) {
  switch (dtype) {
    case DType::kF32: return AllOnes{every(0x7f800000, 32), every(0x00800000, 32), every(0x80000000, 32), false};
    case DType::kBf16: return AllOnes{every(0x7f80, 16), every(0x0080, 16), every(0x8000, 16), false};
    case DType::kF8E4m3: return AllOnes{every(0x7f, 8), every(0x01, 8), every(0x80, 8), false};
    case DType::kF8E8m0: return AllOnes{every(0x7f, 8), every(0x01, 8), every(0x80, 8), true};
    case DType::kI64:
    case DType::kI32:
    case DType::kI8: return std::nullopt;
  }
  return std::nullopt;
}

bool has_bad(uint64_t word, const AllOnes& p) {
  const uint64_t carried = ((word & p.mask) + p.one) & p.carry;
  return (p.needs_top ? carried & word : carried) != 0;
}

uint64_t load_word(const std::byte* at, size_t bytes) {
  uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

}  // namespace

std::optional<int64_t> first_non_finite(DType dtype, std::span<const std::byte> bytes) {
  const std::optional<AllOnes> p = pattern(dtype);
  if (!p) return std::nullopt;
  constexpr size_t kWord = sizeof(uint64_t);
  const auto element = static_cast<size_t>(dtype_bytes(dtype));
  size_t at = 0;
  while (at + kWord <= bytes.size() && !has_bad(load_word(bytes.data() + at, kWord), *p)) at += kWord;
  for (; at < bytes.size(); at += element) {
    if (has_bad(load_word(bytes.data() + at, element), *p)) return static_cast<int64_t>(at / element);
  }
  return std::nullopt;
}

std::optional<int64_t> first_bad_expert(std::span<const std::byte> bytes, int64_t per_token, int64_t experts) {
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(int64_t));
  const auto entry = [&](int64_t i) {
    int64_t value = 0;
    std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(int64_t), sizeof(int64_t));
    return value;
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t expert = entry(i);
    if (expert < 0 || expert >= experts) return i;
    for (int64_t earlier = i - i % per_token; earlier < i; ++earlier) {
      if (entry(earlier) == expert) return i;
    }
  }
  return std::nullopt;
}

}  // namespace octet
