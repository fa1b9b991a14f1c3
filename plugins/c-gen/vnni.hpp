// dot4 tiles (4-element int8 dot products): up to 8 rows and 16 columns, for compilers with AVX-512 VNNI. One
// operand is unsigned, the other signed; nothing saturates. All helpers are inside #ifdef VNNI.
#pragma once

#include "quantized.hpp"

namespace anybit::cgen {

inline constexpr std::int64_t kDot4TileRows = 8;
inline std::int64_t dot4_depth(std::int64_t count) { return (count + 3) / 4 * 4; }

// void dot4_tile(const uint8_t *right, int32_t step, const int8_t *left, int32_t rows, int32_t depth, int32_t
// *sums): sums[r * 16 + j] = Σ left[r * depth + k] * right(k, j). `right` interleaves four k: (k, j) is at k
// / 4 * step + 4 * j + k % 4; `depth` is a multiple of 4.
void need_dot4_tile(Node& node);

// void dot4_panel(const int8_t *right, const uint8_t *left, int32_t rows, int32_t depth, int32_t *sums): the
// same with signed bytes in a panel of 16 columns that interleaves pairs of k, like tile_s8, and unsigned
// rows. Reads up to 32 bytes beyond the panel if its depth is no multiple of 4.
void need_dot4_panel(Node& node);

// void shift_s8(const int8_t *from, uint8_t *to, int32_t rows, int32_t count, int32_t width): rows minus the
// lowest integer; zero padding up to `width`.
std::string need_shift(Node& node, const Value& value);

// void narrow_s16(const int16_t *from, int8_t *to, int32_t rows, int32_t step, int32_t count, int32_t width,
// const int32_t *zero): rows of `count` numbers, `step` apart, minus optional zero points; the results must
// fit 8 bits; zero padding up to `width`.
std::string need_narrow(Node& node, const Value& value);

// void pad_dot4_s8(const int8_t *x, uint8_t *to, int32_t planes, int32_t height, int32_t width, int32_t
// above, int32_t left, int32_t full_height, int32_t full_width, int32_t fill): padded planes minus the lowest
// integer.
std::string need_pad_dot4(Node& node, const Value& value);

// void gather_dot4_16(const uint8_t *x, uint8_t *to, const int32_t *places, int32_t chunks, int32_t block,
// const int32_t *sizes): windows over a padded input, in chunks of 16, 8 or 4 pixels; sizes as for gather_16.
std::string need_gather_dot4(Node& node, std::int64_t chunk);

// void dot4_planes_s8_16(const int8_t *x, uint8_t *to, const int32_t *places, int32_t chunks, int32_t block,
// int32_t channels, int32_t plane): pixels without padding, minus the lowest integer.
std::string need_dot4_planes(Node& node, const Value& value, std::int64_t chunk);

}  // namespace anybit::cgen
