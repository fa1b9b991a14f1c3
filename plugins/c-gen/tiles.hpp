// Sums of products of whole numbers in tiles of 4 rows and 16 columns: what integer convolutions and matrix
// products are made of where speed counts. Numbers are widened to 16 bits, so that pairs of products are
// exact in 32. With AVX2 the tiles are written by hand; everywhere else they are loops that compilers turn
// into vector code.
#pragma once

#include "quantized.hpp"

namespace anybit::cgen {

inline constexpr std::int64_t kTileRows = 4, kTileColumns = 16;

// void tile(const int16_t *right, int32_t step, const int16_t *left, int32_t depth, int32_t *sums)
// sums[r * 16 + j] = Σ left[r * depth + k] * (column j of right at k). `right` has pairs of k beside each
// other: (k, j) and (k + 1, j) are at k / 2 * step + 2 * j; `depth` is even.
void need_tile(Node& node);

// void tile_s8(const int8_t *right, const int16_t *left, int32_t rows, int32_t depth, int32_t *sums), or
// tile_u8: the same with bytes, in panels of 16 columns: (k, j) is at (k / 2 * 16 + j) * 2 + k % 2. One row
// or four are computed.
std::string need_byte_tile(Node& node, const Value& right);

// void widen_s8(const int8_t *from, int16_t *to, int32_t rows, int32_t height, int32_t count, int32_t width,
// const int32_t *zero, int32_t zero_step): rows of `count` numbers less their zero points, `width` apart;
// what is missing of `height` rows, and of `width`, is zero.
std::string need_widen(Node& node, const Value& value);

// void finish_s8(const int32_t *sums, int32_t count, int32_t bias, float factor, float low, float high,
// int32_t zero, int8_t *y): up to 16 sums of one output channel become codes.
std::string need_finish(Node& node, const Value& out);

}  // namespace anybit::cgen
