// Activation quantisers: the fp8 input of a linear layer, the rows of the KV cache and the keys of the indexer.
// All scales are powers of two, so scaling is exact; the only rounding is the one to e4m3 or e2m1.
#pragma once

#include <cstddef>

#include "base/dtype.h"
#include "base/tensor.h"
#include "kernels/context.h"
#include "kernels/int8_codec.h"

namespace octet::ops {

inline constexpr int64_t kActBlock = 128;   ///< columns that share a scale in the input of a linear layer
inline constexpr int64_t kKvBlock = 64;     ///< columns that share a scale in a KV row
inline constexpr int64_t kIndexBlock = 32;  ///< columns that share a scale in an indexer key or query

/// Smallest power of two s with absmax / s <= 448, after raising absmax to 1e-4; as an e8m0 byte.
/// t = f32(a * f32(1/448)), exponent = ceil(log2 t) read off its bits.   Source: V4 kernel.py, act_quant.
fp8_e8m0 fp8_block_scale(float absmax);

/// The same for e2m1: a raised to 6 * 2^-126, t = f32(a * f32(1/6)).   Source: V4 kernel.py, fp4_act_quant.
fp8_e8m0 fp4_block_scale(float absmax);

/// The input of a linear layer: the activation itself and, with --numerics official, its fp8 codes.
/// x [T, K] Act; q [T, K] and scale [T, K / 128], or empty views when activations stay as they are.
template <class Act>
struct LinearInput {
  Mat<const Act> x;
  Mat<const fp8_e4m3> q;
  Mat<const fp8_e8m0> scale;
};

/// q = e4m3_rne(clamp(x / s, -448, 448)), s = fp8_block_scale(max |x| of the block of 128 columns).
/// x [T, K] Act; q [T, K]; scale [T, K / 128].   Source: V4 kernel.py, act_quant.
template <class Act>
void quantise_fp8(cpu::Context&, Mat<fp8_e4m3> q, Mat<fp8_e8m0> scale, Mat<const Act> x);

/// rows = the int8 codes of x (kernels/int8_codec.h).   x [T, D] fp32, D a multiple of 32.
void quantise_int8(cpu::Context&, const int8::Rows& rows, Mat<const float> x);
/// x = the decoded rows, exact in fp32.
void dequantise_int8(cpu::Context&, Mat<float> x, const int8::Rows& rows);

/// Bytes of one KV row of head_dim columns whose last rope_dim are rotated. Act float: head_dim fp32 values.
/// Act bf16: head_dim - rope_dim e4m3 values, rope_dim bf16 values, one e8m0 scale per 64 of the former, padded to 8.
template <class Act>
int64_t kv_row_bytes(int64_t head_dim, int64_t rope_dim);

/// rows[t] = packed x[t]; unpacking gives exactly the reference's quantised-and-restored values.
/// x [T, head_dim] Act; rows [T, kv_row_bytes].   Source: V4 model.py, act_quant(kv[..., :-rope_dim], 64, inplace).
template <class Act>
void pack_kv(cpu::Context&, Mat<std::byte> rows, Mat<const Act> x, int64_t rope_dim);

/// Bytes of one indexer key of dim columns. Act float: fp32 values. Act bf16: dim / 2 bytes of two e2m1 values each
/// (low nibble first), one e8m0 scale per 32, padded to 4.
template <class Act>
int64_t index_row_bytes(int64_t dim);

/// Act bf16: rows[t] = e2m1 codes of the Hadamard-rotated x[t] (y = Act(x H / sqrt(dim)), H natural order, fp32
/// inside), blocks of 32. Act float: rows[t] = x[t] (the rotation is orthogonal and serves only the rounding). x [T,
/// dim] Act, dim a power of two.   Source: V4 model.py, rotate_activation and fp4_act_quant.
template <class Act>
void pack_index(cpu::Context&, Mat<std::byte> rows, Mat<const Act> x);

/// Host-side single-row readers, used by the CPU ops and by tests. out has head_dim (dim) floats.
template <class Act>
void unpack_kv_row(float* out, const std::byte* row, int64_t head_dim, int64_t rope_dim);
template <class Act>
void unpack_index_row(float* out, const std::byte* row, int64_t dim);

}  // namespace octet::ops
