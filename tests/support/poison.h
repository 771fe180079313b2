// Memory for tests. An Array owns a tensor whose elements begin as NaN (integers: 0x5555...), so a value that an op
// forgets to write, or reads although it must not, shows in the result. Guard elements around it catch writes outside.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/tensor.h"

namespace octet::test {

/// Every byte of a poisoned element: all ones is NaN in every floating type we have (and in e8m0); an integer must not
/// become -1, which often means "none".
template <class T>
inline constexpr int kPoisonByte = std::is_integral_v<T> ? 0x55 : 0xff;

/// An owned, poisoned tensor that converts to the views that ops take.
template <class T, int Rank>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr size_t kGuard = 64;  // elements on each side

 public:
  template <class... Dims>
  requires(sizeof...(Dims) == Rank) explicit Array(Dims... d)
      : shape_(nullptr, d...), memory_(static_cast<size_t>(shape_.size()) + 2 * kGuard) {
    std::memset(static_cast<void*>(memory_.data()), kPoisonByte<T>, memory_.size() * sizeof(T));
  }
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  Array& operator=(const Array&) = default;
  Array& operator=(Array&&) noexcept = default;
  ~Array() { EXPECT_TRUE(guards_intact()) << "an op wrote outside its output"; }

  int64_t size() const { return shape_.size(); }
  int64_t dim(int i) const { return shape_.dim[i]; }
  T* begin() { return memory_.data() + kGuard; }
  T* end() { return begin() + size(); }
  const T* begin() const { return memory_.data() + kGuard; }
  const T* end() const { return begin() + size(); }

  template <class... Index>
  requires(sizeof...(Index) == Rank) T& operator()(Index... index) { return begin()[offset(index...)]; }
  template <class... Index>
  requires(sizeof...(Index) == Rank) const T& operator()(Index... index) const { return begin()[offset(index...)]; }

  Tensor<T, Rank> view() {
    Tensor<T, Rank> v = shape_;
    v.data = begin();
    return v;
  }
  Tensor<const T, Rank> view() const { return const_cast<Array*>(this)->view(); }
  operator Tensor<T, Rank>() { return view(); }
  operator Tensor<const T, Rank>() const { return view(); }

  void fill(T value) {
    for (T& x : *this) x = value;
  }

 private:
  template <class... Index>
  int64_t offset(Index... index) const {
    int64_t at = 0;
    int d = 0;
    ((at = at * shape_.dim[d++] + static_cast<int64_t>(index)), ...);
    return at;
  }
  bool guards_intact() const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.data());
    const size_t total = memory_.size() * sizeof(T);
    const size_t guard = kGuard * sizeof(T);
    for (size_t i = 0; total != 0 && i < guard; ++i) {
      if (bytes[i] != kPoisonByte<T> || bytes[total - 1 - i] != kPoisonByte<T>) return false;
    }
    return true;
  }

  Tensor<T, Rank> shape_;
  std::vector<T> memory_;
};

/// A vector with the given elements.
template <class T>
Array<T, 1> array_of(const std::vector<T>& values) {
  Array<T, 1> a(static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) a(i) = values[i];
  return a;
}

/// A matrix with the given rows, all of one length.
template <class T>
Array<T, 2> matrix_of(const std::vector<std::vector<T>>& rows) {
  Array<T, 2> a(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.at(0).size()));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) a(r, c) = rows[r][c];
  }
  return a;
}

/// Rows [first, first + count) as an array of their own.
template <class T, int Rank>
Array<T, Rank> copy_rows(const Array<T, Rank>& all, int64_t first, int64_t count) {
  const Tensor<const T, Rank> part = all.view().rows(first, count);
  auto copy = [&]<size_t... I>(std::index_sequence<I...>) {
    return Array<T, Rank>(part.dim[I]...);
  }
  (std::make_index_sequence<static_cast<size_t>(Rank)>());
  for (int64_t i = 0; i < part.size(); ++i) copy.begin()[i] = part.data[i];
  return copy;
}

}  // namespace octet::test
