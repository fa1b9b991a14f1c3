// Sums of products of bytes, four at a time: tiles of up to 8 rows and 16 columns, where the compiler has
// AVX-512 VNNI. One factor is unsigned, the other signed, and nothing saturates. All of it is there only if
// QUADS is defined.
#pragma once

#include "quantized.hpp"

namespace anybit::cgen {

inline constexpr std::int64_t kQuadRows = 8;
inline std::int64_t quad_depth(std::int64_t count) { return (count + 3) / 4 * 4; }

// void quad_tile(const uint8_t *right, int32_t step, const int8_t *left, int32_t rows, int32_t depth, int32_t
// *sums): sums[r * 16 + j] = Σ left[r * depth + k] * (column j of right at k). `right` has four k beside each
// other: (k, j) is at k / 4 * step + 4 * j + k % 4; `depth` is a multiple of 4.
void need_quad_tile(Node& node);

// void quad_panel(const int8_t *right, const uint8_t *left, int32_t rows, int32_t depth, int32_t *sums): the
// same with signed bytes in a panel of 16 columns, where pairs of k are beside each other, as tile_s8 takes
// it, and unsigned rows. Up to 32 bytes behind the panel are read if its depth is no multiple of 4.
void need_quad_panel(Node& node);

// void shift_s8(const int8_t *from, uint8_t *to, int32_t rows, int32_t count, int32_t width): rows of codes
// less the lowest; zeros behind them until `width`.
std::string need_shift(Node& node, const Value& value);

// void narrow_s16(const int16_t *from, int8_t *to, int32_t rows, int32_t step, int32_t count, int32_t width,
// const int32_t *zero): rows of `count` numbers, `step` apart, less their zero points, if there are any,
// which must leave 8 bits; zeros behind them until `width`.
std::string need_narrow(Node& node, const Value& value);

// void pad_quads_s8(const int8_t *x, uint8_t *to, int32_t planes, int32_t height, int32_t width, int32_t
// above, int32_t left, int32_t full_height, int32_t full_width, int32_t fill): codes less the lowest, with
// padding.
std::string need_pad_quads(Node& node, const Value& value);

// void gather_quads_16(const uint8_t *x, uint8_t *to, const int32_t *places, int32_t chunks, int32_t block,
// const int32_t *sizes): pixels of windows over a padded input, in chunks of 16, 8 or 4; sizes as for pairs.
std::string need_gather_quads(Node& node, std::int64_t chunk);

// void quad_planes_s8_16(const int8_t *x, uint8_t *to, const int32_t *places, int32_t chunks, int32_t block,
// int32_t channels, int32_t plane): pixels as they are, codes less the lowest.
std::string need_quad_planes(Node& node, const Value& value, std::int64_t chunk);

}  // namespace anybit::cgen
