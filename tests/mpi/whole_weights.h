// The weights of a synthetic checkpoint, whole and dequantised, made from the rule alone: no file, no loader, no
// binding by name. With them the vocabulary of the definitions in double: products, roundings, norms, rotations and
// quantisers, written from the formulas and not from the ops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "model/synth.h"
#include "model/tensor_specs.h"
#include "options/options.h"
#include "tests/support/compare.h"

namespace octet::test {

using Row = std::vector<double>;

/// A weight [rows, columns], exact in fp32.
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
  double at(int64_t n, int64_t k) const { return static_cast<double>(values[static_cast<size_t>(n * columns + k)]); }
};

class WholeWeights {
 public:
  WholeWeights(const ModelConfig& config, uint64_t seed) : config_(config), specs_(tensor_specs(config)), seed_(seed) {}

  const ModelConfig& config() const { return config_; }

  /// An F32 or BF16 tensor; a vector is one row.
  Dense plain(const std::string& name) const {
    const TensorSpec& s = spec(name);
    const std::vector<std::byte> bytes = bytes_of(s);
    Dense w{s.shape.size() == 1 ? 1 : s.shape[0], s.shape.back(), {}};
    for (size_t i = 0; i < static_cast<size_t>(w.rows * w.columns); ++i) {
      uint32_t bits = 0;
      if (s.dtype == DType::kBf16) {
        uint16_t half = 0;
        std::memcpy(&half, &bytes[2 * i], 2);
        bits = static_cast<uint32_t>(half) << 16;
      } else {
        std::memcpy(&bits, &bytes[4 * i], 4);
      }
      w.values.push_back(std::bit_cast<float>(bits));
    }
    return w;
  }
  Row vector(const std::string& name) const {
    const Dense w = plain(name);
    return {w.values.begin(), w.values.end()};
  }
  /// name.weight in e4m3 with name.scale per 128 x 128.
  Dense fp8(const std::string& name) const {
    const TensorSpec& s = spec(name + ".weight");
    const std::vector<std::byte> q = bytes_of(s), scale = bytes_of(spec(name + ".scale"));
    Dense w{s.shape[0], s.shape[1], {}};
    const int64_t scale_columns = (w.columns + 127) / 128;
    for (int64_t i = 0; i < w.rows * w.columns; ++i) {
      const int64_t block = i / w.columns / 128 * scale_columns + i % w.columns / 128;
      const int code = std::to_integer<int>(q[static_cast<size_t>(i)]), exponent = code >> 3 & 15, m = code & 7;
      const double size = exponent == 0 ? std::ldexp(m, -9) : std::ldexp(8 + m, exponent - 10);
      w.values.push_back(static_cast<float>((code < 128 ? size : -size) * power(scale[static_cast<size_t>(block)])));
    }
    return w;
  }
  /// name.weight in e2m1, the low nibble first, with name.scale per 32 columns of a row.
  Dense fp4(const std::string& name) const {
    constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const TensorSpec& s = spec(name + ".weight");
    const std::vector<std::byte> q = bytes_of(s), scale = bytes_of(spec(name + ".scale"));
    Dense w{s.shape[0], 2 * s.shape[1], {}};
    for (size_t i = 0; i < 2 * q.size(); ++i) {
      const int nibble = std::to_integer<int>(q[i / 2]) >> (i % 2 == 0 ? 0 : 4) & 15;
      const double size = kValues[nibble & 7] * power(scale[i / 32]);
      w.values.push_back(static_cast<float>(nibble < 8 ? size : -size));
    }
    return w;
  }
  std::vector<int64_t> integers(const std::string& name) const {
    const std::vector<std::byte> bytes = bytes_of(spec(name));
    std::vector<int64_t> values(bytes.size() / 8);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  const TensorSpec& spec(const std::string& name) const {
    return *std::find_if(specs_.begin(), specs_.end(), [&](const TensorSpec& s) { return s.name == name; });
  }
  std::vector<std::byte> bytes_of(const TensorSpec& s) const {
    std::vector<std::byte> bytes(static_cast<size_t>(s.bytes()));
    fill_synthetic(bytes, s, seed_, 0, config_.n_routed_experts);
    return bytes;
  }
  static double power(std::byte e8m0) { return std::ldexp(1.0, std::to_integer<int>(e8m0) - 127); }

  ModelConfig config_;
  std::vector<TensorSpec> specs_;
  uint64_t seed_;
};

/// Row n of W times x[first, first + columns). Four sums: the order does not matter in double.
inline double dot(const Dense& w, int64_t n, const double* x) {
  const float* row = w.values.data() + n * w.columns;
  double sum[4] = {};
  for (int64_t k = 0; k < w.columns; ++k) sum[k % 4] += static_cast<double>(row[k]) * x[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
inline Row times(const Dense& w, const Row& x) {
  Row y;
  for (int64_t n = 0; n < w.rows; ++n) y.push_back(dot(w, n, x.data()));
  return y;
}

/// Every element rounded to Act.
template <class Act>
Row to_act(Row x) {
  for (double& v : x) v = rounded<Act>(v);
  return x;
}
/// Act( w * x / sqrt(mean(x^2) + eps) ).
template <class Act>
Row normed(Row x, const Row& w, double eps) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (size_t i = 0; i < x.size(); ++i) x[i] = rounded<Act>(w[i] * (x[i] * factor));
  return x;
}

/// x to the nearest multiple of a floating grid with `mantissa` bits and least exponent `least`, ties to even.
inline double to_grid(double x, int mantissa, int least) {
  if (x == 0) return 0;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), least) - mantissa);
  return std::nearbyint(x / step) * step;
}
/// x[first, first + count) quantised and restored in blocks: the scale is the least power of two s with
/// f32(max|x| / largest) <= s.
inline void quantise(Row& x, size_t first, size_t count, size_t block, float largest, double floor, int mantissa,
                     int least) {
  for (size_t b = first; b < first + count; b += block) {
    double top = floor;
    for (size_t i = b; i < b + block; ++i) top = std::max(top, std::fabs(x[i]));
    const float t = static_cast<float>(top) * (1.0f / largest);
    int exponent = 0;
    const float fraction = std::frexp(t, &exponent);  // t = fraction * 2^exponent, fraction in [0.5, 1)
    const double s = std::ldexp(1.0, fraction == 0.5f ? exponent - 1 : exponent);
    const double limit = static_cast<double>(largest);
    for (size_t i = b; i < b + block; ++i) x[i] = to_grid(std::clamp(x[i] / s, -limit, limit), mantissa, least) * s;
  }
}
inline void quantise_fp8(Row& x, size_t count, size_t block) {
  quantise(x, 0, count, block, 448, 1e-4f, 3, -6);
}
inline void quantise_fp4(Row& x, size_t first, size_t count) {
  quantise(x, first, count, 32, 6, 6 * 0x1p-126, 1, 0);
}

/// What a quantised linear multiplies.
inline Row linear_input(Row x, Numerics numerics) {
  if (numerics == Numerics::kOfficial) quantise_fp8(x, x.size(), 128);
  return x;
}

/// The last 2F of the `width` dims from `first` on, turned by position * f_i (one fp32 product), backwards if sign < 0.
template <class Act>
void rotate(Row& x, size_t first, size_t width, int64_t position, const std::vector<float>& f, double sign) {
  for (size_t i = 0; i < f.size(); ++i) {
    const auto phi = static_cast<double>(static_cast<float>(position) * f[i]);
    const size_t at = first + width - 2 * f.size() + 2 * i;
    const double c = std::cos(phi), s = sign * std::sin(phi), x0 = x[at], x1 = x[at + 1];
    x[at] = rounded<Act>(x0 * c - x1 * s);
    x[at + 1] = rounded<Act>(x0 * s + x1 * c);
  }
}

}  // namespace octet::test
