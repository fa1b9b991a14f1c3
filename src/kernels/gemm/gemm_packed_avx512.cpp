#include "kernels/gemm/gemm_packed_avx512.hpp"

#include <hwy/detect_targets.h>

#if HWY_ARCH_X86
#include <immintrin.h>

#include <algorithm>

namespace anybit::kernels {
namespace {

#define ANYBIT_AVX512 __attribute__((target("avx512f")))

constexpr std::int64_t kGroupBytes = 64;
constexpr std::int64_t kAhead = 16;  // prefetch distance, in groups

using Words = std::uint32_t __attribute__((vector_size(64)));

// The lookup uses the lowest four bits of each word. (g++ 12 warns that the unmasked forms of both
// instructions read uninitialized values.)
ANYBIT_AVX512 inline __m512 looked_up(__m512i codes, int row, __m512 values) {
  const auto places = reinterpret_cast<__m512i>(reinterpret_cast<Words>(codes) >> (4 * row));
  return _mm512_maskz_permutexvar_ps(0xFFFF, places, values);
}

inline const float* scales_of(const float* all, const CodeView& view, std::int64_t panel,
                              std::int64_t block) {
  return all + (panel * view.blocks + block) * kPanel;
}

template <CodeScale kScale, int Rows, int Panels>
class Strip {
 public:
  ANYBIT_AVX512 static void multiply(const NibbleStrip& strip) {
    const CodeView& view = strip.view;
    const __m512 values = _mm512_loadu_ps(view.values);
    const std::uint8_t* codes = view.codes + strip.panel * view.groups * kGroupBytes;
    __m512 sums[Panels][Rows];
#pragma GCC unroll 4
    for (auto& of_panel : sums) std::fill_n(of_panel, Rows, _mm512_setzero_ps());
    for (std::int64_t b = 0; b < view.blocks; ++b) {
      if (kScale == CodeScale::unit) change_unit(strip, b, sums);
      __m512 factors[Panels], zeros[Panels];
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) {
        if (kScale != CodeScale::unit)
          factors[p] = _mm512_loadu_ps(scales_of(view.factors, view, strip.panel + p, b));
        if (kScale == CodeScale::zero)
          zeros[p] = _mm512_loadu_ps(scales_of(view.zeros, view, strip.panel + p, b));
      }
      const std::int64_t first = b * view.block_groups,
                         last = std::min(first + view.block_groups, view.groups);
      for (std::int64_t g = first; g < last; ++g) {
        const float* x = strip.a + g * kGroupRows;
        __m512i group[Panels];
#pragma GCC unroll 4
        for (int p = 0; p < Panels; ++p) {
          const std::uint8_t* at = codes + (p * view.groups + g) * kGroupBytes;
          __builtin_prefetch(at + kAhead * kGroupBytes);
          group[p] = _mm512_loadu_si512(at);
        }
#pragma GCC unroll 8
        for (int row = 0; row < kGroupRows; ++row) {
#pragma GCC unroll 4
          for (int p = 0; p < Panels; ++p) {
            __m512 weights = looked_up(group[p], row, values);
            if (kScale == CodeScale::zero) weights = _mm512_sub_ps(weights, zeros[p]);
            if (kScale != CodeScale::unit) weights = _mm512_mul_ps(weights, factors[p]);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
              sums[p][r] = _mm512_fmadd_ps(_mm512_set1_ps(x[r * strip.stride + row]), weights, sums[p][r]);
              asm("" : "+v"(sums[p][r]));  // otherwise g++ 12 spills it
            }
          }
        }
      }
    }
    if (kScale == CodeScale::unit) change_unit(strip, view.blocks, sums);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      for (int r = 0; r < Rows; ++r) _mm512_storeu_ps(strip.sums + (p * Rows + r) * kPanel, sums[p][r]);
    }
  }

 private:
  ANYBIT_AVX512 static inline void change_unit(const NibbleStrip& strip, std::int64_t block,
                                               __m512 (&sums)[Panels][Rows]) {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const std::int64_t at = (strip.panel + p) * (strip.view.blocks + 1) + block;
      const __m512 unit = _mm512_loadu_ps(strip.view.units + at * kPanel);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) sums[p][r] = _mm512_mul_ps(sums[p][r], unit);
    }
  }
};

template <CodeScale kScale>
void multiply(int rows, int panels, const NibbleStrip& strip) {
  if (rows == 3) return Strip<kScale, 3, 1>::multiply(strip);
  if (rows == 2) return Strip<kScale, 2, 1>::multiply(strip);
  if (panels == 3) return Strip<kScale, 1, 3>::multiply(strip);
  if (panels == 2) return Strip<kScale, 1, 2>::multiply(strip);
  Strip<kScale, 1, 1>::multiply(strip);
}

}  // namespace

void multiply_nibbles_avx512(int rows, int panels, const NibbleStrip& strip) {
  switch (strip.scale) {
    case CodeScale::factor:
      return multiply<CodeScale::factor>(rows, panels, strip);
    case CodeScale::zero:
      return multiply<CodeScale::zero>(rows, panels, strip);
    case CodeScale::unit:
      return multiply<CodeScale::unit>(rows, panels, strip);
  }
}

ANYBIT_AVX512 void decode_nibbles_avx512(const CodeView& view, std::int64_t panel, std::int64_t group,
                                         std::int64_t block, float* to) {
  const __m512 values = _mm512_loadu_ps(view.values);
  const __m512i codes = _mm512_loadu_si512(view.codes + (panel * view.groups + group) * kGroupBytes);
  const __m512 factor = _mm512_loadu_ps(scales_of(view.factors, view, panel, block));
#pragma GCC unroll 8
  for (int row = 0; row < kGroupRows; ++row) {
    __m512 weights = looked_up(codes, row, values);
    if (view.zeros)
      weights = _mm512_sub_ps(weights, _mm512_loadu_ps(scales_of(view.zeros, view, panel, block)));
    _mm512_storeu_ps(to + row * kPanel, _mm512_mul_ps(weights, factor));
  }
}

}  // namespace anybit::kernels

#else

namespace anybit::kernels {

void multiply_nibbles_avx512(int, int, const NibbleStrip&) {}
void decode_nibbles_avx512(const CodeView&, std::int64_t, std::int64_t, std::int64_t, float*) {}

}  // namespace anybit::kernels

#endif  // HWY_ARCH_X86
