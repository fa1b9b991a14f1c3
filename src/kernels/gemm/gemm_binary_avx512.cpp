#include "kernels/gemm/gemm_binary_avx512.hpp"

#include <hwy/detect_targets.h>

#include <algorithm>

namespace anybit::kernels {

SignWords sign_words(unsigned negative, unsigned there) noexcept {
  constexpr std::uint32_t kFourTimes = 0x01010101;
  return {(~negative & there) * kFourTimes, there * kFourTimes};
}

}  // namespace anybit::kernels

#if HWY_ARCH_X86
#include <immintrin.h>

namespace anybit::kernels {
namespace {

#define ANYBIT_AVX512 __attribute__((target("avx512f,avx512bw,avx512bitalg")))
#define ANYBIT_AVX512_INLINE ANYBIT_AVX512 __attribute__((always_inline)) inline

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kByteSteps = 31;  // 31 · 8 agreements fit a byte

// Adds the counts of a panel's even and odd columns, 16 bits each, to 64 sums in order.
ANYBIT_AVX512_INLINE void add_to(std::int32_t* sums, __m512i even, __m512i odd) {
  // Of every 16 columns, the first 8 and the last 8.
  const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
  alignas(64) std::uint16_t ordered[kColumns];
  _mm512_store_si512(ordered,
                     _mm512_permutex2var_epi64(low, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), high));
  _mm512_store_si512(ordered + kColumns / 2,
                     _mm512_permutex2var_epi64(low, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), high));
#pragma GCC unroll 4
  for (std::int64_t c = 0; c < kColumns; c += 16) {
    const __m256i more = _mm256_load_si256(reinterpret_cast<const __m256i*>(ordered + c));
    const __m512i sum = _mm512_loadu_si512(sums + c);
    _mm512_storeu_si512(sums + c, _mm512_add_epi32(sum, _mm512_maskz_cvtepu16_epi32(0xFFFF, more)));
  }
}

ANYBIT_AVX512_INLINE __m512i four_times(std::uint32_t word) {
  return _mm512_set1_epi32(static_cast<int>(word));
}

// The counts of a row: in bytes, and in 16 bits for even and for odd columns. A recursive struct, because g++
// 12 keeps an array that is indexed in a loop in memory.
template <int Rows>
struct Counts {
  __m512i bytes, even, odd;
  __m512i left;  // carry-save sum of pairs of steps: weight 1
  Counts<Rows - 1> others;

  ANYBIT_AVX512_INLINE void clear() {
    bytes = even = odd = left = _mm512_setzero_si512();
    others.clear();
  }
  // One step, with a mask of the values that count.
  ANYBIT_AVX512_INLINE void add(__m512i signs, const SignWords* words) {
    const __m512i agree = _mm512_xor_si512(signs, four_times(words->plus));
    bytes = _mm512_add_epi8(bytes, _mm512_popcnt_epi8(_mm512_and_si512(agree, four_times(words->there))));
    others.add(signs, words + 1);
  }
  // Two steps by a full adder (carry-save): of three bits, `left` and the agreements of the two steps, the
  // sum becomes `left` and the carries are counted. Where the sum differs from `left`, the carry is the old
  // `left`; elsewhere it is either agreement.
  template <int Step>
  ANYBIT_AVX512_INLINE void add_two(__m512i first, __m512i differ, const SignWords* words) {
    constexpr int kSum = 0x96, kCarry = 0xB2;  // (a ^ b ^ c), (a ^ b ? a : c)
    const __m512i before = left;
    left = _mm512_ternarylogic_epi32(left, differ, four_times(words[Step].plus), kSum);
    const __m512i agree = _mm512_xor_si512(first, four_times(words->plus));
    bytes =
        _mm512_add_epi8(bytes, _mm512_popcnt_epi8(_mm512_ternarylogic_epi32(before, left, agree, kCarry)));
    others.template add_two<Step>(first, differ, words + 1);
  }
  // Adds the bytes, each times `1 << shift`, to the 16-bit counts.
  ANYBIT_AVX512_INLINE void widen(unsigned shift) {
    even = _mm512_add_epi16(even, _mm512_slli_epi16(_mm512_and_si512(bytes, _mm512_set1_epi16(255)), shift));
    odd = _mm512_add_epi16(odd, _mm512_slli_epi16(_mm512_srli_epi16(bytes, 8), shift));
    bytes = _mm512_setzero_si512();
    others.widen(shift);
  }
  // The remaining carry-save bits, and a last step without a pair.
  ANYBIT_AVX512_INLINE void add_left(bool last, __m512i signs, const SignWords* words) {
    bytes = _mm512_popcnt_epi8(left);
    if (last)
      bytes = _mm512_add_epi8(bytes, _mm512_popcnt_epi8(_mm512_xor_si512(signs, four_times(words->plus))));
    others.add_left(last, signs, words + 1);
  }
  ANYBIT_AVX512_INLINE void store(std::int32_t* sums, std::int64_t stride) const {
    add_to(sums, even, odd);
    others.store(sums + stride, stride);
  }
};

template <>
struct Counts<0> {
  ANYBIT_AVX512_INLINE void clear() {}
  ANYBIT_AVX512_INLINE void add(__m512i, const SignWords*) {}
  template <int Step>
  ANYBIT_AVX512_INLINE void add_two(__m512i, __m512i, const SignWords*) {}
  ANYBIT_AVX512_INLINE void widen(unsigned) {}
  ANYBIT_AVX512_INLINE void add_left(bool, __m512i, const SignWords*) {}
  ANYBIT_AVX512_INLINE void store(std::int32_t*, std::int64_t) const {}
};

template <int Rows>
ANYBIT_AVX512 void count_all(const SignWords* words, const std::uint8_t* panel, std::int64_t steps,
                             std::int32_t* sums, std::int64_t stride) {
  Counts<Rows> counts;
  counts.clear();
  for (std::int64_t pair = 0; pair < steps / 2;) {
    const std::int64_t end = std::min(pair + kByteSteps, steps / 2);
    for (; pair < end; ++pair, words += 2 * Rows, panel += 2 * kColumns) {
      const __m512i first = _mm512_loadu_si512(panel);
      const __m512i differ = _mm512_xor_si512(first, _mm512_loadu_si512(panel + kColumns));
      counts.template add_two<Rows>(first, differ, words);
    }
    counts.widen(1);
  }
  const bool last = steps % 2 != 0;
  counts.add_left(last, last ? _mm512_loadu_si512(panel) : _mm512_setzero_si512(), words);
  counts.widen(0);
  counts.store(sums, stride);
}

template <int Rows>
ANYBIT_AVX512 void count_there(const SignWords* words, const std::uint8_t* panel, std::int64_t steps,
                               std::int32_t* sums, std::int64_t stride) {
  Counts<Rows> counts;
  counts.clear();
  for (std::int64_t step = 0; step < steps;) {
    const std::int64_t end = std::min(step + kByteSteps, steps);
    for (; step < end; ++step, words += Rows, panel += kColumns) counts.add(_mm512_loadu_si512(panel), words);
    counts.widen(0);
  }
  counts.store(sums, stride);
}

ANYBIT_AVX512_INLINE unsigned negative_of(const float* from) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(from), _mm512_setzero_ps(), _CMP_LT_OQ);
}

}  // namespace

ANYBIT_AVX512 void write_binary_avx512(const float* from, std::int64_t count, SignWords* to,
                                       std::int64_t stride) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16, to += 2 * stride) {
    const unsigned negative = negative_of(from + i);
    to[0].plus = sign_words(negative, 255).plus;
    to[stride].plus = sign_words(~(negative ^ negative >> 8), 255).plus;
  }
  if (i == count) return;
  float last[16] = {};
  std::copy(from + i, from + count, last);
  const unsigned negative = negative_of(last), there = (1u << (count - i)) - 1;
  to[0].plus = sign_words(negative, there & 255).plus;
  if (count - i > 8) to[stride].plus = to[0].plus ^ sign_words(negative >> 8, there >> 8).plus;
}

void count_binary_avx512(int rows, bool all, const SignWords* words, const std::uint8_t* panel,
                         std::int64_t steps, std::int32_t* sums, std::int64_t stride) {
  const auto count =
      rows == 4 ? (all ? count_all<4> : count_there<4>) : (all ? count_all<1> : count_there<1>);
  count(words, panel, steps, sums, stride);
}

}  // namespace anybit::kernels

#else

namespace anybit::kernels {

void write_binary_avx512(const float*, std::int64_t, SignWords*, std::int64_t) {}
void count_binary_avx512(int, bool, const SignWords*, const std::uint8_t*, std::int64_t, std::int32_t*,
                         std::int64_t) {}

}  // namespace anybit::kernels

#endif  // HWY_ARCH_X86
