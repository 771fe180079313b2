// A safetensors file read whole, for tests: golden values and the program's dumps.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "tests/support/test_files.h"

namespace octet::test {

/// Tensors of one file by name; F32 and I32 only.
class Tensors {
 public:
  explicit Tensors(const std::string& path) : bytes_(read_file(path)) {
    for (const SafetensorsEntry& e : read_safetensors_header(path).entries) entries_[e.tensor.name] = e;
  }
  bool has(const std::string& name) const { return entries_.count(name) != 0; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const std::vector<int64_t>& shape(const std::string& name) const { return entries_.at(name).tensor.shape; }

  template <class T>
  std::vector<T> values(const std::string& name) const {
    const SafetensorsEntry& e = entries_.at(name);
    std::vector<T> out(static_cast<size_t>(e.bytes) / sizeof(T));
    std::memcpy(out.data(), bytes_.data() + e.offset, static_cast<size_t>(e.bytes));
    return out;
  }

 private:
  std::string bytes_;
  std::map<std::string, SafetensorsEntry> entries_;
};

/// |x - y| / |y|; infinite when a value is not finite or the sizes differ.
inline double relative_l2(const std::vector<float>& x, const std::vector<float>& y) {
  if (x.size() != y.size() || y.empty()) return INFINITY;
  double difference = 0, size = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(x[i])) return INFINITY;
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    difference += d * d;
    size += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  return std::sqrt(difference / size);
}

}  // namespace octet::test
