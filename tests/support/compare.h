// How tests compare a computed tensor with its definition in double: positions of inf and NaN first, then the distance
// |x-y|^2 / (|x|^2+|y|^2), then the worst element and its index. The bound is what one rounding to the stored type may
// cost, plus what the test computes for the fp32 arithmetic before it.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>

#include "base/dtype.h"
#include "tests/support/poison.h"

namespace octet::test {

/// Any element type as double.
template <class T>
double as_double(T x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<T, std::byte>) {
    return std::to_integer<int>(x);
  } else if constexpr (requires { to_float(x); }) {
    return to_float(x);
  } else {
    return static_cast<double>(x);
  }
}

/// x rounded once to T, as double: T is bf16 or float.
template <class T>
double rounded(double x) {
  return as_double(T(static_cast<float>(x)));
}

/// Half the distance between neighbouring values of T (bf16, float, double) near x: what one rounding may cost.
template <class T>
double half_ulp(double x) {
  constexpr int kDigits = std::is_same_v<T, bf16> ? 8 : std::numeric_limits<T>::digits;
  if (x == 0 || !std::isfinite(x)) return 0;
  return std::ldexp(1.0, std::ilogb(x) - kDigits);
}

/// An element may differ by half_ulp + relative * |want| + absolute; the whole by `distance`.
struct Bound {
  double relative = 0;
  double absolute = 0;
  double distance = std::numeric_limits<double>::infinity();
};

/// "[i, j, k]" of a flat index.
template <class T, int Rank>
std::string index_text(const Array<T, Rank>& a, int64_t flat) {
  std::string text = "]";
  for (int d = Rank - 1; d >= 0; --d) {
    text.insert(0, std::to_string(flat % a.dim(d)));
    text.insert(0, std::string(d > 0 ? ", " : "["));
    flat /= a.dim(d);
  }
  return text;
}

template <class A, class B>
bool same_shape(const A& a, const B& b) {
  for (int d = 0; d < static_cast<int>(sizeof(a.view().dim) / sizeof(int64_t)); ++d) {
    if (a.dim(d) != b.dim(d)) return false;
  }
  return true;
}

/// Whether x and y are both finite, the same infinity, or both NaN.
inline bool same_class(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return true;
}

/// |got - want|^2 / (|got|^2 + |want|^2), which is 1 - 2<x,y> / (|x|^2 + |y|^2), over the finite elements.
template <class T, int Rank>
double distance(const Array<T, Rank>& got, const Array<double, Rank>& want) {
  double difference = 0;
  double norms = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double x = as_double(got.begin()[i]);
    const double y = want.begin()[i];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    difference += (x - y) * (x - y);
    norms += x * x + y * y;
  }
  return norms == 0 ? 0 : difference / norms;
}

template <class T, int Rank>
testing::AssertionResult matches(const Array<T, Rank>& got, const Array<double, Rank>& want, Bound bound) {
  if (!same_shape(got, want)) return testing::AssertionFailure() << "the shapes differ";
  for (int64_t i = 0; i < got.size(); ++i) {
    const double x = as_double(got.begin()[i]);
    if (!same_class(x, want.begin()[i])) {
      return testing::AssertionFailure() << index_text(got, i) << " is " << x << ", expected " << want.begin()[i];
    }
  }
  const double apart = distance(got, want);
  double worst = 0;
  int64_t worst_at = -1;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double y = want.begin()[i];
    if (!std::isfinite(y)) continue;
    const double allowed = half_ulp<T>(y) + bound.relative * std::fabs(y) + bound.absolute;
    const double error = std::fabs(as_double(got.begin()[i]) - y);
    const double excess = error == 0 ? 0 : error / allowed;
    if (excess > worst) {
      worst = excess;
      worst_at = i;
    }
  }
  if (worst <= 1 && apart <= bound.distance) return testing::AssertionSuccess() << "distance " << apart;
  std::ostringstream text;
  text.precision(9);
  text << "distance " << apart << " (bound " << bound.distance << "); worst element " << index_text(got, worst_at)
       << " is " << as_double(got.begin()[worst_at]) << ", expected " << want.begin()[worst_at] << ": " << worst
       << " times the allowed error";
  return testing::AssertionFailure() << text.str();
}

/// Every byte is equal.
template <class T, int Rank>
testing::AssertionResult same_bits(const Array<T, Rank>& got, const Array<T, Rank>& want) {
  if (!same_shape(got, want)) return testing::AssertionFailure() << "the shapes differ";
  for (int64_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(got.begin() + i, want.begin() + i, sizeof(T)) == 0) continue;
    return testing::AssertionFailure() << index_text(got, i) << " is " << as_double(got.begin()[i]) << ", expected "
                                       << as_double(want.begin()[i]) << " (first of the differing bits)";
  }
  return testing::AssertionSuccess() << "the same bits";
}

/// Every element is `want` rounded once to T, except at most `fraction` of them: for steps whose fp32 sums have no
/// prescribed order, so that a value next to a tie may round the other way.
template <class T, int Rank>
testing::AssertionResult same_rounding(const Array<T, Rank>& got, const Array<double, Rank>& want, double fraction) {
  int64_t different = 0;
  int64_t first = -1;
  for (int64_t i = 0; i < got.size(); ++i) {
    if (as_double(got.begin()[i]) == rounded<T>(want.begin()[i])) continue;
    if (different++ == 0) first = i;
  }
  const double found = got.size() == 0 ? 0 : static_cast<double>(different) / static_cast<double>(got.size());
  if (found <= fraction) return testing::AssertionSuccess() << found << " of the elements differ";
  return testing::AssertionFailure() << found << " of the elements differ (bound " << fraction << "), first "
                                     << index_text(got, first) << ": " << as_double(got.begin()[first]) << ", expected "
                                     << rounded<T>(want.begin()[first]);
}

}  // namespace octet::test
