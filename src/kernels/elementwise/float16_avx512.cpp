// Rounding to float16 with vectors of 16 lanes (AVX-512): the same bits as with narrower ones.
#include "kernels/elementwise/float16.hpp"
#include "kernels/table.hpp"

#include <hwy/detect_targets.h>

// Highway's AVX-512 target would compile every kernel once more.
#if HWY_ARCH_X86
#include <immintrin.h>
#endif

namespace anybit::kernels {

#if HWY_ARCH_X86
namespace {

#define ANYBIT_AVX512 __attribute__((target("avx512f")))

ANYBIT_AVX512 inline __m512 nearest_avx512(__m512 x, __m512 low, __m512 high) {
  const __m512 limited = _mm512_min_ps(high, _mm512_max_ps(low, x));  // x if it is NaN
  return _mm512_cvtph_ps(_mm512_cvtps_ph(limited, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

// Two vectors at a time: the conversions have a latency of several cycles.
ANYBIT_AVX512 void round_avx512(const Float16Work& work) {
  const auto* from = static_cast<const float*>(work.from);
  auto* to = static_cast<float*>(work.to);
  const __m512 low = _mm512_set1_ps(work.limits.low), high = _mm512_set1_ps(work.limits.high);
  std::size_t i = 0;
  for (; i + 32 <= work.n; i += 32) {
    const __m512 first = nearest_avx512(_mm512_loadu_ps(from + i), low, high);
    const __m512 second = nearest_avx512(_mm512_loadu_ps(from + i + 16), low, high);
    _mm512_storeu_ps(to + i, first);
    _mm512_storeu_ps(to + i + 16, second);
  }
  for (; i < work.n; i += 16) {
    const std::size_t rest = work.n - i;
    const auto mask = static_cast<__mmask16>(rest < 16 ? (1U << rest) - 1 : 0xFFFFU);
    _mm512_mask_storeu_ps(to + i, mask, nearest_avx512(_mm512_maskz_loadu_ps(mask, from + i), low, high));
  }
}

bool rounds(const Float16Work& work) { return work.kind == Float16Work::Kind::through_float16; }

}  // namespace
#endif

std::span<const Descriptor> float16_avx512_descriptors() {
#if HWY_ARCH_X86
  static const Descriptor all[] = {{"16 lanes", "float32 and float16", "rounding", Instructions::avx512, true,
                                    0, Float16Conversion{round_avx512, rounds}}};
  return all;
#else
  return {};
#endif
}

}  // namespace anybit::kernels
