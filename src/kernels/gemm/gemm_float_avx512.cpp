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

template <int Rows, int Panels>
ANYBIT_AVX512 void multiply_rows(const TwoTiles& tiles) {
  const float *a = tiles.a, *first = tiles.b[0], *second = tiles.b[Panels - 1];
  const std::int64_t stride = tiles.stride;
  __m512 sums[Rows][Panels];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < Panels; ++p) {
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
      if constexpr (Panels == 2) {
        sums[r][1] = _mm512_fmadd_ps(x, right, sums[r][1]);
        ANYBIT_PIN_AVX512(sums[r][1]);
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r) {
    for (int p = 0; p < Panels; ++p)
      _mm512_storeu_ps(tiles.sums + r * tiles.sum_stride + p * tiles.sum_step, sums[r][p]);
  }
}

constexpr std::int64_t kAheadAvx512 = 128;  // prefetch distance, in rows of B

template <int Rows>
ANYBIT_AVX512 void multiply_strip(const WideStrip& strip) {
  constexpr int kPanels = strip_panels_avx512(Rows);
  __m512 sums[kPanels][Rows];
#pragma GCC unroll 8
  for (int p = 0; p < kPanels; ++p) {
    for (int r = 0; r < Rows; ++r) sums[p][r] = _mm512_setzero_ps();
  }
  const float *a = strip.a, *row = strip.b;
  for (std::int64_t k = 0; k < strip.count; ++k, row += strip.row) {
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
      const float* at = row + p * strip.panel;
      _mm_prefetch(reinterpret_cast<const char*>(at + kAheadAvx512 * 16), _MM_HINT_T0);
      const __m512 b = _mm512_loadu_ps(at);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        sums[p][r] = _mm512_fmadd_ps(_mm512_set1_ps(a[r * strip.stride + k]), b, sums[p][r]);
        ANYBIT_PIN_AVX512(sums[p][r]);
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPanels; ++p) {
    for (int r = 0; r < Rows; ++r) _mm512_storeu_ps(strip.sums + (p * Rows + r) * 16, sums[p][r]);
  }
}

}  // namespace

void multiply_strip_avx512(int rows, const WideStrip& strip) {
  static constexpr void (*all[])(const WideStrip&) = {multiply_strip<1>, multiply_strip<2>, multiply_strip<3>,
                                                      multiply_strip<4>};
  all[rows - 1](strip);
}

void multiply_tiles_avx512(int rows, const TwoTiles& tiles) {
  static constexpr void (*two[])(const TwoTiles&) = {multiply_rows<1, 2>, multiply_rows<2, 2>,
                                                     multiply_rows<3, 2>, multiply_rows<4, 2>,
                                                     multiply_rows<5, 2>, multiply_rows<6, 2>};
  static constexpr void (*one[])(const TwoTiles&) = {multiply_rows<1, 1>, multiply_rows<2, 1>,
                                                     multiply_rows<3, 1>, multiply_rows<4, 1>,
                                                     multiply_rows<5, 1>, multiply_rows<6, 1>};
  (tiles.b[1] ? two : one)[rows - 1](tiles);
}

}  // namespace anybit::kernels

#else

namespace anybit::kernels {

void multiply_tiles_avx512(int, const TwoTiles&) {}
void multiply_strip_avx512(int, const WideStrip&) {}

}  // namespace anybit::kernels

#endif  // HWY_ARCH_X86
