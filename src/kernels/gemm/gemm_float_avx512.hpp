// float32 GEMM micro-kernels of 16 lanes (AVX-512): the same fused multiply-adds in the same order as with
// narrower vectors, so bit-identical results.
#pragma once

#include <cstdint>

namespace anybit::kernels {

inline constexpr int kFloatTileRows = 6;  // maximal rows of a tile

// Two adjacent tiles of C: `rows` rows of A, `stride` floats apart, by two panels of 16 columns and `count`
// rows. Rows of sums are `sum_stride` apart, the second panel's sums `sum_step` after the first's. Sums start
// at zero, or at their current values.
struct TwoTiles {
  const float* a;
  std::int64_t stride;
  const float* b[2];  // the second one may be null: a single tile
  std::int64_t count;
  float* sums;
  std::int64_t sum_stride, sum_step;
  bool from_zero;
};
void multiply_tiles_avx512(int rows, const TwoTiles& tiles);

// Up to 4 rows of A by adjacent panels, as many as strip_panels_avx512(rows), which begin `panel` floats
// apart and whose rows are `row` floats apart. sums[panel][row of A][16].
struct WideStrip {
  const float* a;
  std::int64_t stride;
  const float* b;
  std::int64_t panel, row;
  std::int64_t count;
  float* sums;
};
constexpr int strip_panels_avx512(int rows) { return rows == 1 ? 8 : rows == 2 ? 4 : 2; }
void multiply_strip_avx512(int rows, const WideStrip& strip);

}  // namespace anybit::kernels
