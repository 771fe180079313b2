// Non-owning, contiguous, row-major views. A view is passed by value; who owns the memory is said where it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace octet {

/// A view of dim[0] x ... x dim[Rank-1] elements. Plain array members so that CUDA sources can use it as it is.
template <class T, int Rank>
struct Tensor {
  static_assert(Rank >= 1);
  T* data = nullptr;
  int64_t dim[Rank] = {};

  Tensor() = default;
  template <class... Dims>
  requires(sizeof...(Dims) == Rank) Tensor(T* p, Dims... d) : data(p), dim{static_cast<int64_t>(d)...} {}
  /// A view of mutable elements converts to a view of const ones.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) Tensor(const Tensor<U, Rank>& other)
      : data(other.data) {
    for (int i = 0; i < Rank; ++i) dim[i] = other.dim[i];
  }

  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < Rank; ++i) n *= dim[i];
    return n;
  }
  bool empty() const { return size() == 0; }
  T* begin() const { return data; }
  T* end() const { return data + size(); }

  /// Element (Rank 1) or sub-view (Rank > 1) at index i of the first dimension.
  decltype(auto) operator[](int64_t i) const {
    if constexpr (Rank == 1) {
      return static_cast<T&>(data[i]);
    } else {
      Tensor<T, Rank - 1> sub;
      int64_t stride = 1;
      for (int d = 1; d < Rank; ++d) {
        sub.dim[d - 1] = dim[d];
        stride *= dim[d];
      }
      sub.data = data + i * stride;
      return sub;
    }
  }

  /// Rows [first, first + count) of the first dimension.
  Tensor rows(int64_t first, int64_t count) const {
    Tensor part = *this;
    int64_t stride = 1;
    for (int d = 1; d < Rank; ++d) stride *= dim[d];
    part.data = data + first * stride;
    part.dim[0] = count;
    return part;
  }
};

template <class T>
using Vec = Tensor<T, 1>;
template <class T>
using Mat = Tensor<T, 2>;
template <class T>
using Cube = Tensor<T, 3>;

}  // namespace octet
