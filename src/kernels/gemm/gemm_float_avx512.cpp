#include "kernels/gemm/gemm_float_avx512.hpp"

#include <hwy/detect_targets.h>

// Highway's AVX-512 target would compile every kernel once more, and only this one profits.
#if HWY_ARCH_X86
#include <immintrin.h>

namespace anybit::kernels {
namespace {

#define ANYBIT_AVX512 __attribute__((target("avx512f")))

// g++ 12 spills accumulators to memory unless each is pinned to a register once per iteration.
#define ANYBIT_PIN_AVX512(vector) asm("" : "+v"(vector))

template <int Rows>
ANYBIT_AVX512 void multiply_rows(const TwoTiles& tiles) {
  const float *a = tiles.a, *first = tiles.b[0], *second = tiles.b[1];
  const std::int64_t stride = tiles.stride;
  __m512 sums[Rows][2];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < 2; ++p) {
      const float* from = tiles.sums + r * tiles.sum_stride + p * tiles.sum_step;
      sums[r][p] = tiles.from_zero ? _mm512_setzero_ps() : _mm512_loadu_ps(from);
    }
  }
  for (std::int64_t k = 0; k < tiles.count; ++k) {
    const __m512 left = _mm512_loadu_ps(first + k * 16), right = _mm512_loadu_ps(second + k * 16);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      const __m512 x = _mm512_set1_ps(a[r * stride + k]);
      sums[r][0] = _mm512_fmadd_ps(x, left, sums[r][0]);
      ANYBIT_PIN_AVX512(sums[r][0]);
      sums[r][1] = _mm512_fmadd_ps(x, right, sums[r][1]);
      ANYBIT_PIN_AVX512(sums[r][1]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < 2; ++p)
      _mm512_storeu_ps(tiles.sums + r * tiles.sum_stride + p * tiles.sum_step, sums[r][p]);
  }
}

}  // namespace

void multiply_tiles_avx512(int rows, const TwoTiles& tiles) {
  static constexpr void (*all[])(const TwoTiles&) = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
                                                     multiply_rows<4>, multiply_rows<5>, multiply_rows<6>};
  all[rows - 1](tiles);
}

}  // namespace anybit::kernels

#else

namespace anybit::kernels {

void multiply_tiles_avx512(int, const TwoTiles&) {}

}  // namespace anybit::kernels

#endif  // HWY_ARCH_X86
