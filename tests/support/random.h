// Seeded random inputs for tests. The sequence is the same on every platform; a failing test prints the seed, and the
// environment variable OCTET_TEST_SEED chooses other inputs for all tests at once.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/poison.h"

namespace octet::test {

/// The value of OCTET_TEST_SEED, 0 when unset.
inline uint64_t test_seed() {
  const char* text = std::getenv("OCTET_TEST_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// Splitmix64 over a test's own seed and OCTET_TEST_SEED. Lives on the stack of the test: while it lives, failures name
/// the seed.
class Random {
 public:
  explicit Random(uint64_t seed, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : state_(seed * 0x9e3779b97f4a7c15u + test_seed()),
        trace_(file, line, "inputs of OCTET_TEST_SEED=" + std::to_string(test_seed())) {}
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;

  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in low..high, both included.
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  template <class T>
  void shuffle(std::vector<T>& v) {
    for (size_t i = v.size(); i > 1; --i)
      std::swap(v[i - 1], v[static_cast<size_t>(integer(0, static_cast<int64_t>(i) - 1))]);
  }

  /// Normal values with the given standard deviation, rounded to T.
  template <class T, int Rank>
  void fill_normal(Array<T, Rank>& a, double deviation = 1) {
    for (T& x : a) x = T(static_cast<float>(deviation * normal()));
  }
  /// Integers in low..high times unit, rounded to T: sums of their products are exact in fp32.
  template <class T, int Rank>
  void fill_integers(Array<T, Rank>& a, int64_t low, int64_t high, double unit = 1) {
    for (T& x : a) x = T(static_cast<float>(unit * static_cast<double>(integer(low, high))));
  }

 private:
  uint64_t state_;
  ::testing::ScopedTrace trace_;
};

}  // namespace octet::test
