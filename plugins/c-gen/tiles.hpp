// Integer GEMM tiles of up to 6 rows and 16 columns, the micro-kernels of integer convolution and matrix
// multiplication. Elements are widened to 16 bits, so that sums of two products are exact in 32 bits. AVX2
// tiles are written by hand; elsewhere they are loops that compilers vectorize.
#pragma once

#include "parts.hpp"
#include "quantized.hpp"

namespace anybit::cgen {

inline constexpr std::int64_t kTileRows = 6, kTileColumns = 16, kTileSums = kTileRows * kTileColumns;
inline std::int64_t tile_depth(std::int64_t count) { return (count + 1) / 2 * 2; }

// void tile(const int16_t *right, int32_t step, const int16_t *left, int32_t rows, int32_t depth, int32_t
// *sums): sums[r * 16 + j] = Σ left[r * depth + k] * right(k, j). `right` interleaves pairs of k: (k, j) and
// (k + 1, j) are at k / 2 * step + 2 * j; `depth` is even. `left` and `sums` must have room for 6 rows if
// rows > 1.
void need_tile(Node& node);

// void tile_s8(const int8_t *right, const int16_t *left, int32_t rows, int32_t depth, int32_t *sums), or
// tile_u8: the same with bytes in panels of 16 columns: (k, j) is at (k / 2 * 16 + j) * 2 + k % 2.
std::string need_byte_tile(Node& node, const Value& right);

// void pair_shorts(int16_t *to, const int16_t *even, const int16_t *odd, int32_t count): interleaves two
// rows.
void need_pair_shorts(Node& node);
// void pair_bytes_s8(int16_t *to, const int8_t *even, const int8_t *odd, int32_t count, int16_t zero): the
// same minus `zero`. Here and below there are variants for 16-bit inputs whose differences fit 16 bits.
std::string need_pair_bytes(Node& node, const Value& value);

// void line_s8(const int8_t *from, int16_t *to, int32_t count, int16_t zero): a row minus a zero point; for
// short rows.
void need_line(Node& node, const Value& value);

// void widen_s8(const int8_t *from, int16_t *to, int32_t rows, int32_t height, int32_t count, int32_t width,
// const int32_t *zero, int32_t zero_step): rows of `count` numbers minus their zero points, `width` apart;
// zero padding up to `height` rows and up to `width`.
std::string need_widen(Node& node, const Value& value);

// Vector types and operations, if the compiler has AVX2 (defines VECTORS) and AVX-512 VNNI (defines VNNI,
// too).
void need_vectors(Node& node);

// void taps_s8(const int16_t *x, const int32_t *offsets, const int16_t *weights, int32_t pairs, int32_t
// count, int32_t bias, float factor, int32_t low, int32_t high, int32_t zero, int8_t *quantized):
// quantized[i] from bias + Σ x[i + offsets[p]] * weights[p] over 2 * pairs taps. Reads and writes up to 31
// elements beyond the last.
std::string need_taps(Node& node, const Value& out);
inline constexpr std::int64_t kTapsSlack = 32;
// far_taps_s8: the same with 64-bit sums.
std::string need_far_taps(Node& node, const Value& out);

// void requantize_s8(const int32_t *sums, const int32_t *bias, const float *factor, int32_t low, int32_t
// high, int32_t zero, int8_t *quantized): requantizes 16 sums with one bias and factor.
std::string need_requantize(Node& node, const Value& out);

// void finish_s8_16(const int32_t *sums, const int32_t *bias, const float *factor, int32_t low, int32_t high,
// int32_t zero, int8_t *y, const int32_t *places, int32_t width): requantizes 16 sums of one output channel
// to chunks of 16, 8 or 4 at these offsets of y; keeps `width` elements of each.
std::string need_finish(Node& node, const Value& out, std::int64_t chunk);
// The same for sums in parts that exceed 32 bits together; the tiles of the parts follow each other.
std::string need_wide_finish(Node& node, const Value& out, std::int64_t chunk, const Parts& parts);

}  // namespace anybit::cgen
