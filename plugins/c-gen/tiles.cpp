#include "tiles.hpp"

#include "numbers.hpp"

namespace anybit::cgen {
namespace {

constexpr std::string_view kIntrinsics = R"(#if defined(__AVX2__)
#include <immintrin.h>
#endif)";

constexpr std::string_view kTile =
    R"(static void tile(const int16_t *right, int32_t step, const int16_t *left, int32_t depth, int32_t *sums) {
#if defined(__AVX2__)
  __m256i a0 = _mm256_setzero_si256(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
  for (int32_t k = 0; k < depth; k += 2, right += step) {
    const __m256i x0 = _mm256_loadu_si256((const __m256i *)(const void *)right);
    const __m256i x1 = _mm256_loadu_si256((const __m256i *)(const void *)(right + 16));
    const __m256i a = pair_at(left + k), b = pair_at(left + depth + k);
    const __m256i c = pair_at(left + 2 * depth + k), d = pair_at(left + 3 * depth + k);
    a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(x0, a));
    a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(x1, a));
    b0 = _mm256_add_epi32(b0, _mm256_madd_epi16(x0, b));
    b1 = _mm256_add_epi32(b1, _mm256_madd_epi16(x1, b));
    c0 = _mm256_add_epi32(c0, _mm256_madd_epi16(x0, c));
    c1 = _mm256_add_epi32(c1, _mm256_madd_epi16(x1, c));
    d0 = _mm256_add_epi32(d0, _mm256_madd_epi16(x0, d));
    d1 = _mm256_add_epi32(d1, _mm256_madd_epi16(x1, d));
  }
  keep_sums(sums, a0, a1);
  keep_sums(sums + 16, b0, b1);
  keep_sums(sums + 32, c0, c1);
  keep_sums(sums + 48, d0, d1);
#else
  for (int32_t i = 0; i < 64; ++i) sums[i] = 0;
  for (int32_t k = 0; k < depth; k += 2, right += step) {
    for (int32_t r = 0; r < 4; ++r) {
      const int32_t even = left[r * depth + k], odd = left[r * depth + k + 1];
      for (int32_t j = 0; j < 16; ++j) sums[r * 16 + j] += right[2 * j] * even + right[2 * j + 1] * odd;
    }
  }
#endif
})";

constexpr std::string_view kPairs = R"(#if defined(__AVX2__)
static inline __m256i pair_at(const int16_t *from) {
  const uint32_t pair = (uint32_t)(uint16_t)from[0] | (uint32_t)(uint16_t)from[1] << 16;
  return _mm256_set1_epi32((int32_t)pair);
}
static inline void keep_sums(int32_t *to, __m256i low, __m256i high) {
  _mm256_storeu_si256((__m256i *)(void *)to, low);
  _mm256_storeu_si256((__m256i *)(void *)(to + 8), high);
}
#endif)";

constexpr std::string_view kByteTile =
    R"(static void tile_$S(const $T *right, const int16_t *left, int32_t rows, int32_t depth, int32_t *sums) {
#if defined(__AVX2__)
  __m256i a0 = _mm256_setzero_si256(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
  if (rows == 1) {
    for (int32_t k = 0; k < depth; k += 2, right += 32) {
      const __m256i a = pair_at(left + k);
      a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(wide_$S(right), a));
      a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(wide_$S(right + 16), a));
    }
    keep_sums(sums, a0, a1);
    return;
  }
  for (int32_t k = 0; k < depth; k += 2, right += 32) {
    const __m256i x0 = wide_$S(right), x1 = wide_$S(right + 16);
    const __m256i a = pair_at(left + k), b = pair_at(left + depth + k);
    const __m256i c = pair_at(left + 2 * depth + k), d = pair_at(left + 3 * depth + k);
    a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(x0, a));
    a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(x1, a));
    b0 = _mm256_add_epi32(b0, _mm256_madd_epi16(x0, b));
    b1 = _mm256_add_epi32(b1, _mm256_madd_epi16(x1, b));
    c0 = _mm256_add_epi32(c0, _mm256_madd_epi16(x0, c));
    c1 = _mm256_add_epi32(c1, _mm256_madd_epi16(x1, c));
    d0 = _mm256_add_epi32(d0, _mm256_madd_epi16(x0, d));
    d1 = _mm256_add_epi32(d1, _mm256_madd_epi16(x1, d));
  }
  keep_sums(sums, a0, a1);
  keep_sums(sums + 16, b0, b1);
  keep_sums(sums + 32, c0, c1);
  keep_sums(sums + 48, d0, d1);
#else
  for (int32_t i = 0; i < 16 * rows; ++i) sums[i] = 0;
  for (int32_t k = 0; k < depth; k += 2, right += 32) {
    for (int32_t r = 0; r < rows; ++r) {
      const int32_t even = left[r * depth + k], odd = left[r * depth + k + 1];
      for (int32_t j = 0; j < 16; ++j) sums[r * 16 + j] += right[2 * j] * even + right[2 * j + 1] * odd;
    }
  }
#endif
})";

constexpr std::string_view kWide = R"(#if defined(__AVX2__)
static inline __m256i wide_$S(const $T *from) {
  return _mm256_cvtep$I8_epi16(_mm_loadu_si128((const __m128i *)(const void *)from));
}
#endif)";

constexpr std::string_view kWiden =
    R"(static void widen_$S(const $T *restrict from, int16_t *restrict to, int32_t rows, int32_t height, int32_t count,
                     int32_t width, const int32_t *zero, int32_t zero_step) {
  for (int32_t r = 0; r < height; ++r, to += width) {
    if (r < rows) {
      const int16_t less = (int16_t)zero[r * zero_step];
      for (int32_t i = 0; i < count; ++i) to[i] = (int16_t)(from[r * count + i] - less);
    }
    for (int32_t i = r < rows ? count : 0; i < width; ++i) to[i] = 0;
  }
})";

constexpr std::string_view kFinish =
    R"(static void finish_$S(const int32_t *restrict sums, int32_t count, int32_t bias, float factor, float low, float high,
                      int32_t zero, $T *restrict y) {
  if (count == 16) {
    for (int32_t j = 0; j < 16; ++j) y[j] = ($T)to_code((float)(sums[j] + bias) * factor, low, high, zero);
  } else {
    for (int32_t j = 0; j < count; ++j) y[j] = ($T)to_code((float)(sums[j] + bias) * factor, low, high, zero);
  }
})";

constexpr std::string_view kKeep =
    R"(static void finish_s32(const int32_t *restrict sums, int32_t count, int32_t bias, float factor, float low, float high,
                       int32_t zero, int32_t *restrict y) {
  (void)bias, (void)factor, (void)low, (void)high, (void)zero;
  for (int32_t j = 0; j < count; ++j) y[j] = sums[j];
})";

Names names(const Value& value) {
  return {{"S", std::string(short_name(value))},
          {"T", std::string(value.c())},
          {"I", is_signed(value) ? "i" : "u"}};
}

}  // namespace

void need_tile(Node& node) {
  node.helper("intrinsics", kIntrinsics);
  node.helper("pairs", kPairs);
  node.helper("tile", kTile);
}

std::string need_byte_tile(Node& node, const Value& right) {
  node.helper("intrinsics", kIntrinsics);
  node.helper("pairs", kPairs);
  node.helper(fmt::format("wide_{}", short_name(right)), filled(kWide, names(right)));
  const std::string name = fmt::format("tile_{}", short_name(right));
  node.helper(name, filled(kByteTile, names(right)));
  return name;
}

std::string need_widen(Node& node, const Value& value) {
  const std::string name = fmt::format("widen_{}", short_name(value));
  node.helper(name, filled(kWiden, names(value)));
  return name;
}

std::string need_finish(Node& node, const Value& out) {
  const std::string name = fmt::format("finish_{}", short_name(out));
  if (out.type == Element::int32) {
    node.helper(name, kKeep);
    return name;
  }
  need_to_code(node);
  node.helper(name, filled(kFinish, names(out)));
  return name;
}

}  // namespace anybit::cgen
