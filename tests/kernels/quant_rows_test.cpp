// Packed rows (kernels/quant.h): the key/value rows of the cache and the rows of the indexer, byte for byte against a
// definition written from the layout, and read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/context.h"
#include "kernels/quant.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace octet::test {
namespace {

template <class Act>
Array<std::byte, 2> pack_kv(const Array<Act, 2>& x, int64_t rope_dim) {
  cpu::Context ctx;
  Array<std::byte, 2> rows(x.dim(0), ops::kv_row_bytes<Act>(x.dim(1), rope_dim));
  ops::pack_kv<Act>(ctx, rows, x, rope_dim);
  return rows;
}

template <class Act>
Array<float, 2> unpack_kv(const Array<std::byte, 2>& rows, int64_t head_dim, int64_t rope_dim) {
  Array<float, 2> x(rows.dim(0), head_dim);
  for (int64_t t = 0; t < rows.dim(0); ++t) {
    ops::unpack_kv_row<Act>(&x(t, 0), &rows(t, 0), head_dim, rope_dim);
  }
  return x;
}

template <class Act>
Array<std::byte, 2> pack_index(const Array<Act, 2>& x) {
  cpu::Context ctx;
  Array<std::byte, 2> rows(x.dim(0), ops::index_row_bytes<Act>(x.dim(1)));
  ops::pack_index<Act>(ctx, rows, x);
  return rows;
}

template <class Act>
Array<float, 2> unpack_index(const Array<std::byte, 2>& rows, int64_t dim) {
  Array<float, 2> x(rows.dim(0), dim);
  for (int64_t t = 0; t < rows.dim(0); ++t) ops::unpack_index_row<Act>(&x(t, 0), &rows(t, 0), dim);
  return x;
}

// x on the e4m3 grid of its blocks of 64, except the last rope_dim columns.
Array<double, 2> defined_kv(const Array<bf16, 2>& x, int64_t rope_dim, int64_t block = 64) {
  Array<double, 2> y(x.dim(0), x.dim(1));
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t first = 0; first < x.dim(1); first += block) {
      double largest = 1e-4;
      for (int64_t c = first; c < first + block; ++c) largest = std::max(largest, std::fabs(as_double(x(t, c))));
      int e = -30;
      while (std::ldexp(largest, -e) > 448) ++e;
      for (int64_t c = first; c < first + block; ++c) {
        const double v = as_double(x(t, c));
        // 4 significant bits, or a multiple of 2^-9 below 2^-6; nearbyint rounds ties to even.
        const double scaled = std::ldexp(v, -e);
        const int step = scaled == 0 ? -9 : std::max(std::ilogb(scaled) - 3, -9);
        y(t, c) = c >= x.dim(1) - rope_dim ? v : std::ldexp(std::nearbyint(std::ldexp(scaled, -step)), step + e);
      }
    }
  }
  return y;
}

constexpr double kE2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

// The e2m1 nibble nearest to x, ties to the even nibble.
int nearest_e2m1(double x) {
  int best = 0;
  for (int code = 1; code < 8; ++code) {
    const double error = std::fabs(std::fabs(x) - kE2m1[code]);
    const double least = std::fabs(std::fabs(x) - kE2m1[best]);
    if (error < least || (error == least && code % 2 == 0)) best = code;
  }
  return (std::signbit(x) ? 8 : 0) + best;
}

// Codes and scales of the rotated x, in the layout of the header: nibbles (low first), scales, padding to 4.
Array<std::byte, 2> defined_index(const Array<bf16, 2>& x, bool high_nibble_first = false, bool rotate = true) {
  const int64_t dim = x.dim(1);
  Array<std::byte, 2> rows(x.dim(0), (dim / 2 + dim / 32 + 3) / 4 * 4);
  for (int64_t t = 0; t < x.dim(0); ++t) {
    std::vector<double> y(static_cast<size_t>(dim));
    for (int64_t a = 0; a < dim; ++a) {
      double sum = 0;
      for (int64_t b = 0; b < dim; ++b) {
        sum += as_double(x(t, b)) * (std::popcount(static_cast<uint64_t>(a & b)) % 2 == 0 ? 1 : -1);
      }
      y[static_cast<size_t>(a)] =
          rotate ? rounded<bf16>(sum / std::sqrt(static_cast<double>(dim))) : as_double(x(t, a));
    }
    for (int64_t c = 0; c < dim; c += 2) rows(t, c / 2) = std::byte{0};
    for (int64_t first = 0; first < dim; first += 32) {
      double largest = 6 * 0x1p-126;
      for (int64_t c = first; c < first + 32; ++c) largest = std::max(largest, std::fabs(y[static_cast<size_t>(c)]));
      int e = -126;
      while (std::ldexp(largest, -e) > 6) ++e;
      rows(t, dim / 2 + first / 32) = static_cast<std::byte>(e + 127);
      for (int64_t c = first; c < first + 32; ++c) {
        const int code = nearest_e2m1(std::ldexp(y[static_cast<size_t>(c)], -e));
        rows(t, c / 2) |= static_cast<std::byte>(code << ((c % 2 == 0) == high_nibble_first ? 4 : 0));
      }
    }
  }
  return rows;
}

// The bytes that carry data: the padding is free.
Array<std::byte, 2> index_data(const Array<std::byte, 2>& rows, int64_t dim) {
  Array<std::byte, 2> data(rows.dim(0), dim / 2 + dim / 32);
  for (int64_t t = 0; t < data.dim(0); ++t) {
    for (int64_t b = 0; b < data.dim(1); ++b) data(t, b) = rows(t, b);
  }
  return data;
}

TEST(KvRow, HasTheDocumentedSize) {
  EXPECT_EQ(ops::kv_row_bytes<bf16>(512, 64), 584);
  EXPECT_EQ(ops::kv_row_bytes<bf16>(128, 64), 200);
  EXPECT_EQ(ops::kv_row_bytes<float>(512, 64), 2048);
}

TEST(KvRow, ReadsBackTheQuantisedValuesAndTheRotatedColumnsAsTheyWere) {
  Random random(41);
  for (const auto& [rows, head_dim, rope_dim] : {std::array{5, 512, 64}, {1, 128, 64}, {3, 192, 64}, {0, 128, 64}}) {
    Array<bf16, 2> x(rows, head_dim);
    for (bf16& v : x) v = bf16(static_cast<float>(random.normal() * std::exp2(random.uniform(-18, 3))));
    EXPECT_TRUE(
        matches(unpack_kv<bf16>(pack_kv(x, rope_dim), head_dim, rope_dim), defined_kv(x, rope_dim), {.distance = 0}))
        << rows << " x " << head_dim;
  }
}

TEST(KvRow, HoldsCodesThenRotatedColumnsThenScales) {
  Array<bf16, 2> x(1, 192);
  x.fill(bf16(1.0f));
  for (int c = 64; c < 128; ++c) x(0, c) = bf16(3.0f);
  for (int c = 128; c < 192; ++c) x(0, c) = bf16(-2.0f);
  const Array<std::byte, 2> row = pack_kv(x, 64);
  EXPECT_EQ(row.dim(1), 264);               // 128 + 64 * 2 + 2, padded to 8
  EXPECT_EQ(row(0, 0), std::byte{0x78});    // 256 = 1 / 2^-8
  EXPECT_EQ(row(0, 64), std::byte{0x7c});   // 384 = 3 / 2^-7
  EXPECT_EQ(row(0, 128), std::byte{0x00});  // bf16 -2 is 0xc000, low byte first
  EXPECT_EQ(row(0, 129), std::byte{0xc0});
  EXPECT_EQ(row(0, 256), std::byte{127 - 8});
  EXPECT_EQ(row(0, 257), std::byte{127 - 7});
}

TEST(KvRow, OfFloatKeepsEveryBit) {
  Random random(42);
  Array<float, 2> x(3, 128);
  random.fill_normal(x);
  EXPECT_TRUE(same_bits(unpack_kv<float>(pack_kv(x, 64), 128, 64), x));
}

TEST(IndexRow, HasTheDocumentedSize) {
  EXPECT_EQ(ops::index_row_bytes<bf16>(128), 68);
  EXPECT_EQ(ops::index_row_bytes<bf16>(64), 36);
  EXPECT_EQ(ops::index_row_bytes<float>(128), 512);
}

TEST(IndexRow, HoldsTheCodesOfTheRotatedVector) {
  Random random(43);
  for (const auto& [rows, dim] : {std::pair{7, 128}, {1, 64}, {3, 32}, {0, 128}}) {
    Array<bf16, 2> x(rows, dim);
    random.fill_integers(x, -5, 5, 0.25);  // the sums of the rotation are exact
    EXPECT_TRUE(same_bits(index_data(pack_index(x), dim), index_data(defined_index(x), dim))) << rows << " x " << dim;
  }
}

TEST(IndexRow, RoundsTiesToTheEvenCode) {
  // A vector whose rotation is 8 * the wanted values: the rotation is its own inverse.
  const std::vector<double> wanted = {6, -5, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25, -0.26, 0.1};
  const std::vector<double> codes = {6, -4, 4, 2, 2, 1, 1, 0, -0.5, 0};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(e2m1_to_float(to_e2m1(static_cast<float>(wanted[i]))), codes[i]);
  Array<bf16, 2> x(1, 64);
  for (int a = 0; a < 64; ++a) {
    double sum = 0;
    for (int b = 0; b < 8; ++b)
      sum += wanted[static_cast<size_t>(b)] * (std::popcount(static_cast<uint32_t>(a & b)) % 2 == 0 ? 1 : -1);
    x(0, a) = bf16(static_cast<float>(sum / 8));
  }
  const Array<float, 2> y = unpack_index<bf16>(pack_index(x), 64);
  for (int b = 0; b < 8; ++b) EXPECT_EQ(y(0, b), codes[static_cast<size_t>(b)]) << b;
}

TEST(IndexRow, ReadsBackItsCodes) {
  Random random(44);
  Array<bf16, 2> x(5, 64);
  random.fill_integers(x, -5, 5, 0.25);
  const Array<std::byte, 2> rows = pack_index(x);
  Array<double, 2> want(5, 64);
  for (int t = 0; t < 5; ++t) {
    for (int c = 0; c < 64; ++c) {
      const int code = std::to_integer<int>(rows(t, c / 2)) >> (c % 2 == 0 ? 0 : 4) & 15;
      want(t, c) = std::ldexp((code & 8) != 0 ? -kE2m1[code & 7] : kE2m1[code & 7],
                              std::to_integer<int>(rows(t, 32 + c / 32)) - 127);
    }
  }
  EXPECT_EQ(distance(unpack_index<bf16>(rows, 64), want), 0);
}

TEST(IndexRow, OfFloatIsNeitherRotatedNorRounded) {
  Random random(45);
  Array<float, 2> x(3, 64);
  random.fill_normal(x);
  EXPECT_TRUE(same_bits(unpack_index<float>(pack_index(x), 64), x));
}

TEST(PackedRow, DoesNotDependOnTheOthers) {
  Random random(46);
  Array<bf16, 2> x(5, 128);
  random.fill_normal(x);
  const Array<std::byte, 2> kv = pack_kv(x, 64);
  const Array<std::byte, 2> index = pack_index(x);
  for (int t = 0; t < 5; ++t) {
    EXPECT_TRUE(same_bits(pack_kv(copy_rows(x, t, 1), 64), copy_rows(kv, t, 1)));
    EXPECT_TRUE(same_bits(pack_index(copy_rows(x, t, 1)), copy_rows(index, t, 1)));
  }
}

TEST(PackedRowNegativeControl, FlippedNibblesAndAMissingRotationAreSeen) {
  Random random(47);
  Array<bf16, 2> x(5, 64);
  random.fill_integers(x, -5, 5, 0.25);
  const Array<std::byte, 2> got = index_data(pack_index(x), 64);
  EXPECT_FALSE(same_bits(got, index_data(defined_index(x, /*high_nibble_first=*/true), 64)));
  EXPECT_FALSE(same_bits(got, index_data(defined_index(x, /*high_nibble_first=*/false, /*rotate=*/false), 64)));
}

TEST(PackedRowNegativeControl, BlocksOf128AndQuantisedRotatedColumnsAreSeen) {
  Random random(48);
  Array<bf16, 2> x(5, 256);
  for (bf16& v : x) v = bf16(static_cast<float>(random.normal() * std::exp2(random.uniform(-18, 3))));
  const Array<float, 2> got = unpack_kv<bf16>(pack_kv(x, 64), 256, 64);
  EXPECT_GT(distance(got, defined_kv(x, 64, /*block=*/128)), 0);
  EXPECT_GT(distance(got, defined_kv(x, 0)), 0);
}

}  // namespace
}  // namespace octet::test
