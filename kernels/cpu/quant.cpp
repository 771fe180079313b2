// Activation quantisers and the packed rows of the caches.
#include "kernels/quant.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "kernels/cpu/math.h"

namespace octet::ops {
namespace {

/// 2^ceil(log2 t) as an e8m0 byte, read off the bits of a positive normal or subnormal t.
fp8_e8m0 ceil_power_of_two(float t) {
  const uint32_t u = std::bit_cast<uint32_t>(t);
  const uint32_t exponent = (u >> 23) & 0xffu;
  return {static_cast<uint8_t>(exponent + ((u & 0x7fffffu) != 0 ? 1u : 0u))};
}

/// Largest |x|; NaN when there is one. Compared as integers, where the order is the same and vectorises.
template <class Act>
float max_abs(const Act* x, int64_t n) {
  uint32_t top = 0;
  for (int64_t i = 0; i < n; ++i) {
    top = std::max(top, std::bit_cast<uint32_t>(static_cast<float>(x[i])) & 0x7fffffffu);
  }
  return std::bit_cast<float>(top);
}

template <class Act>
fp8_e8m0 encode_fp8_block(fp8_e4m3* q, const Act* x, int64_t n) {
  const fp8_e8m0 scale = fp8_block_scale(max_abs(x, n));
  const float inverse = 1.0f / to_float(scale);  // exact: a power of two of at most 2^22
  for (int64_t i = 0; i < n; ++i) q[i] = to_e4m3(std::clamp(static_cast<float>(x[i]) * inverse, -448.0f, 448.0f));
  return scale;
}

/// y = x H / sqrt(n), H[a][b] = (-1)^popcount(a & b), by butterflies in fp32; one rounding to Act at the end.
void hadamard(bf16* y, const bf16* x, float* work, int64_t n) {
  for (int64_t i = 0; i < n; ++i) work[i] = static_cast<float>(x[i]);
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t i = 0; i < n; i += 2 * half) {
      for (int64_t j = i; j < i + half; ++j) {
        const float a = work[j], b = work[j + half];
        work[j] = a + b;
        work[j + half] = a - b;
      }
    }
  }
  const float factor = 1.0f / std::sqrt(static_cast<float>(n));
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<bf16>(work[i] * factor);
}

constexpr int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

fp8_e8m0 fp8_block_scale(float absmax) {
  return ceil_power_of_two(std::max(absmax, 1e-4f) * (1.0f / 448.0f));
}

fp8_e8m0 fp4_block_scale(float absmax) {
  return ceil_power_of_two(std::max(absmax, 6.0f * 0x1p-126f) * (1.0f / 6.0f));
}

template <class Act>
void quantise_fp8(cpu::Context&, Mat<fp8_e4m3> q, Mat<fp8_e8m0> scale, Mat<const Act> x) {
  require(x.dim[1] % kActBlock == 0, "quantise_fp8: columns are not whole blocks of 128");
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    for (int64_t b = 0; b < scale.dim[1]; ++b) {
      const int64_t k = b * kActBlock;
      scale[t][b] = encode_fp8_block(q[t].data + k, x[t].data + k, kActBlock);
    }
  }
}

void quantise_int8(cpu::Context&, const int8::Rows& rows, Mat<const float> x) {
  require(x.size() == rows.blocks() * int8::kBlock, "quantise_int8: columns are not whole blocks of 32");
  for (int64_t b = 0; b < rows.blocks(); ++b) {
    rows.scale.data[b] = int8::encode(rows.q.data + b * int8::kBlock, x.data + b * int8::kBlock);
  }
}

void dequantise_int8(cpu::Context&, Mat<float> x, const int8::Rows& rows) {
  require(x.size() == rows.blocks() * int8::kBlock, "dequantise_int8: columns are not whole blocks of 32");
  for (int64_t b = 0; b < rows.blocks(); ++b) {
    int8::decode(x.data + b * int8::kBlock, rows.q.data + b * int8::kBlock, rows.scale.data[b]);
  }
}

// A KV row of Act bf16: [nope e4m3][rope bf16][nope / 64 e8m0].
template <class Act>
int64_t kv_row_bytes(int64_t head_dim, int64_t rope_dim) {
  if constexpr (std::is_same_v<Act, float>) return head_dim * 4;
  const int64_t nope = head_dim - rope_dim;
  return round_up(nope + 2 * rope_dim + nope / kKvBlock, 8);
}

template <class Act>
void pack_kv(cpu::Context&, Mat<std::byte> rows, Mat<const Act> x, int64_t rope_dim) {
  const int64_t d = x.dim[1], nope = d - rope_dim;
  require(nope % kKvBlock == 0, "pack_kv: unrotated columns are not whole blocks of 64");
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    std::byte* row = rows[t].data;
    if constexpr (std::is_same_v<Act, float>) {
      std::memcpy(row, x[t].data, static_cast<size_t>(d) * 4);
    } else {
      auto* codes = reinterpret_cast<fp8_e4m3*>(row);
      auto* scales = reinterpret_cast<fp8_e8m0*>(row + nope + 2 * rope_dim);
      for (int64_t b = 0; b < nope / kKvBlock; ++b) {
        scales[b] = encode_fp8_block(codes + b * kKvBlock, x[t].data + b * kKvBlock, kKvBlock);
      }
      std::memcpy(row + nope, x[t].data + nope, static_cast<size_t>(rope_dim) * 2);
      const int64_t used = nope + 2 * rope_dim + nope / kKvBlock;
      std::memset(row + used, 0, static_cast<size_t>(rows.dim[1] - used));
    }
  }
}

template <class Act>
int64_t index_row_bytes(int64_t dim) {
  if constexpr (std::is_same_v<Act, float>) return dim * 4;
  return round_up(dim / 2 + dim / kIndexBlock, 4);
}

// An index row of Act bf16: [dim / 2 bytes of two e2m1][dim / 32 e8m0].
template <class Act>
void pack_index(cpu::Context& ctx, Mat<std::byte> rows, Mat<const Act> x) {
  const int64_t d = x.dim[1];
  require(d % kIndexBlock == 0 && (d & (d - 1)) == 0, "pack_index: columns are not a power of two of at least 32");
  const auto scope = ctx.scratch_scope();
  Vec<float> work = ctx.alloc<float>(d);
  Vec<bf16> y = ctx.alloc<bf16>(d);
  for (int64_t t = 0; t < x.dim[0]; ++t) {
    std::byte* row = rows[t].data;
    if constexpr (std::is_same_v<Act, float>) {
      std::memcpy(row, x[t].data, static_cast<size_t>(d) * 4);
    } else {
      hadamard(y.data, x[t].data, work.data, d);
      std::memset(row, 0, static_cast<size_t>(rows.dim[1]));
      for (int64_t b = 0; b < d / kIndexBlock; ++b) {
        const fp8_e8m0 scale = fp4_block_scale(max_abs(y.data + b * kIndexBlock, kIndexBlock));
        const float s = to_float(scale);
        for (int64_t i = b * kIndexBlock; i < (b + 1) * kIndexBlock; ++i) {
          const uint8_t code = to_e2m1(std::clamp(static_cast<float>(y[i]) / s, -6.0f, 6.0f));
          row[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? code : code << 4);
        }
        row[d / 2 + b] = static_cast<std::byte>(scale.bits);
      }
    }
  }
}

template <class Act>
void unpack_kv_row(float* out, const std::byte* row, int64_t head_dim, int64_t rope_dim) {
  if constexpr (std::is_same_v<Act, float>) {
    std::memcpy(out, row, static_cast<size_t>(head_dim) * 4);
  } else {
    const int64_t nope = head_dim - rope_dim;
    const auto* scales = reinterpret_cast<const fp8_e8m0*>(row + nope + 2 * rope_dim);
    for (int64_t b = 0; b < nope / kKvBlock; ++b) {
      cpu::widen_fp8(out + b * kKvBlock, reinterpret_cast<const fp8_e4m3*>(row) + b * kKvBlock, to_float(scales[b]),
                     kKvBlock);
    }
    cpu::widen(out + nope, reinterpret_cast<const bf16*>(row + nope), rope_dim);
  }
}

template <class Act>
void unpack_index_row(float* out, const std::byte* row, int64_t dim) {
  if constexpr (std::is_same_v<Act, float>) {
    std::memcpy(out, row, static_cast<size_t>(dim) * 4);
  } else {
    const auto* scales = reinterpret_cast<const fp8_e8m0*>(row + dim / 2);
    for (int64_t b = 0; b < dim / kIndexBlock; ++b) {
      cpu::widen_fp4(out + b * kIndexBlock, reinterpret_cast<const fp4x2*>(row + b * kIndexBlock / 2),
                     to_float(scales[b]), kIndexBlock);
    }
  }
}

template void quantise_fp8(cpu::Context&, Mat<fp8_e4m3>, Mat<fp8_e8m0>, Mat<const bf16>);
template void quantise_fp8(cpu::Context&, Mat<fp8_e4m3>, Mat<fp8_e8m0>, Mat<const float>);
template int64_t kv_row_bytes<bf16>(int64_t, int64_t);
template int64_t kv_row_bytes<float>(int64_t, int64_t);
template void pack_kv(cpu::Context&, Mat<std::byte>, Mat<const bf16>, int64_t);
template void pack_kv(cpu::Context&, Mat<std::byte>, Mat<const float>, int64_t);
template int64_t index_row_bytes<bf16>(int64_t);
template int64_t index_row_bytes<float>(int64_t);
template void pack_index(cpu::Context&, Mat<std::byte>, Mat<const bf16>);
template void pack_index(cpu::Context&, Mat<std::byte>, Mat<const float>);
template void unpack_kv_row<bf16>(float*, const std::byte*, int64_t, int64_t);
template void unpack_kv_row<float>(float*, const std::byte*, int64_t, int64_t);
template void unpack_index_row<bf16>(float*, const std::byte*, int64_t);
template void unpack_index_row<float>(float*, const std::byte*, int64_t);

}  // namespace octet::ops
