#include "tiles.hpp"

#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// GCC and Clang vector types, without the intrinsics headers, which take longer to parse than most models.
// Sums are exact: vpmaddwd adds two products of 16-bit numbers in 32 bits.
constexpr std::string_view kVectors = R"(#if defined(__AVX2__) && defined(__GNUC__)
#define VECTORS 1
typedef int32_t ints __attribute__((vector_size(32)));
typedef int16_t shorts __attribute__((vector_size(32)));
typedef ints loose_ints __attribute__((aligned(1), may_alias));
typedef shorts loose_shorts __attribute__((aligned(1), may_alias));
typedef int32_t loose_pair __attribute__((aligned(1), may_alias));
/* Else each use would be a load. */
#define IN_REGISTERS(a, b) __asm__("" : "+x"(a), "+x"(b))
INLINE ints pair_at(const int16_t *from) {
  const int32_t p = *(const loose_pair *)(const void *)from;
  const ints all = {p, p, p, p, p, p, p, p};
  return all;
}
INLINE ints products(shorts x, ints pair) { return __builtin_ia32_pmaddwd256(x, (shorts)pair); }
INLINE shorts shorts_at(const int16_t *from) { return *(const loose_shorts *)(const void *)from; }
typedef float reals __attribute__((vector_size(32)));
typedef int16_t eight __attribute__((vector_size(16)));
typedef int32_t four __attribute__((vector_size(16)));
typedef eight loose_eight __attribute__((aligned(1), may_alias));
typedef four loose_four __attribute__((aligned(1), may_alias));
typedef union { shorts all; eight half[2]; } halves;
/* As to_code, but for the upper clamp, and the zero point less 0x4B400000: packing saturates. */
INLINE ints to_wide_code(ints sum, ints bias, reals factor, ints zero) {
  const reals least = {-8388608, -8388608, -8388608, -8388608, -8388608, -8388608, -8388608, -8388608};
  const reals real = __builtin_ia32_maxps256(__builtin_convertvector(sum + bias, reals) * factor, least);
  return (ints)(real + 12582912.0f) + zero;
}
INLINE ints ints_at(const int32_t *from) { return *(const loose_ints *)(const void *)from; }
INLINE void preserve_sums(int32_t *to, ints low, ints high) {
  *(loose_ints *)(void *)to = low;
  *(loose_ints *)(void *)(to + 8) = high;
}
#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && (defined(__clang__) || __GNUC__ >= 12)
#define VNNI 1
typedef int32_t wide_ints __attribute__((vector_size(64)));
typedef float wide_reals __attribute__((vector_size(64)));
typedef wide_ints loose_wide_ints __attribute__((aligned(1), may_alias));
/* Compilers have different names for these instructions. */
#define OF_THREE(name, to, a, b) __asm__(name " {%2, %1, %0|%0, %1, %2}" : to : "v"(a), "v"(b))
#define ADD_DOT4(sums, bytes, signed_bytes) OF_THREE("vpdpbusd", "+v"(sums), bytes, signed_bytes)
INLINE wide_ints all_ints(int32_t one) {
  const wide_ints all = {one, one, one, one, one, one, one, one, one, one, one, one, one, one, one, one};
  return all;
}
INLINE wide_ints dot4_at(const void *from) { return all_ints(*(const loose_pair *)from); }
#endif
#endif)";

// A vectorized tile of `rows` rows. Each accumulator has its own name, so that it stays in a register.
std::string vector_rows(std::int64_t rows, std::string_view step, std::string_view at) {
  std::string text = "    ints s0l = {0}, s0h = s0l";
  for (std::int64_t r = 1; r < rows; ++r) text += fmt::format(", s{0}l = s0l, s{0}h = s0l", r);
  text += fmt::format(";\n    for (int32_t k = 0; k < depth; k += 2, right += {}) {{\n", step);
  text += fmt::format("      shorts low = {0}(right), high = {0}(right + 16);\n      ints pair;\n", at);
  text += "      IN_REGISTERS(low, high);\n";
  for (std::int64_t r = 0; r < rows; ++r) {
    text += fmt::format("      pair = pair_at(left + {} * depth + k);\n", r);
    text += fmt::format("      s{0}l += products(low, pair);\n      s{0}h += products(high, pair);\n", r);
  }
  text += "    }\n";
  for (std::int64_t r = 0; r < rows; ++r)
    text += fmt::format("    preserve_sums(sums + {}, s{}l, s{}h);\n", 16 * r, r, r);
  return text;
}

// Dispatches to the next larger number of rows with its own loop: `all` lists them.
std::string all_vector_rows(std::string_view step, std::string_view at, bool all) {
  std::string text;
  for (const std::int64_t rows :
       all ? std::vector<std::int64_t>{1, 2, 3, 4, 5} : std::vector<std::int64_t>{1, 2, 4})
    text += fmt::format("  if (rows <= {}) {{\n{}    return;\n  }}\n", rows, vector_rows(rows, step, at));
  return text + fmt::format("  {{\n{}  }}\n", vector_rows(kTileRows, step, at));
}

constexpr std::string_view kTileTiles =
    R"(ALONE static void $name(const $T *restrict right,$parameter const int16_t *restrict left, int32_t rows, int32_t depth,
    int32_t *restrict sums) {
#if defined(VECTORS)
$fast#else
  for (int32_t i = 0; i < 16 * rows; ++i) sums[i] = 0;
  for (int32_t k = 0; k < depth; k += 2, right += $step) {
    for (int32_t r = 0; r < rows; ++r) {
      const int32_t even = left[r * depth + k], odd = left[r * depth + k + 1];
      for (int32_t j = 0; j < 16; ++j) sums[r * 16 + j] += right[2 * j] * even + right[2 * j + 1] * odd;
    }
  }
#endif
})";

std::string tile_text(const Node& node, const std::string& name, std::string_view type, bool steps,
                      std::string_view at) {
  const std::string step = steps ? "step" : "32";
  return filled(kTileTiles, {{"name", name},
                             {"T", std::string(type)},
                             {"parameter", steps ? " int32_t step," : ""},
                             {"fast", all_vector_rows(step, at, node.fast())},
                             {"step", step}});
}

// Interleaves two rows into one row of pairs.
constexpr std::string_view kInterleave = R"(#if defined(VECTORS)
INLINE void pair_eight(int16_t *to, eight even, eight odd) {
#if defined(__clang__) || __GNUC__ >= 12
  *(loose_eight *)(void *)to = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
  *(loose_eight *)(void *)(to + 8) = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  *(loose_eight *)(void *)to = __builtin_shuffle(even, odd, (eight){0, 8, 1, 9, 2, 10, 3, 11});
  *(loose_eight *)(void *)(to + 8) = __builtin_shuffle(even, odd, (eight){4, 12, 5, 13, 6, 14, 7, 15});
#endif
}
#endif)";

constexpr std::string_view kPairShorts =
    R"(INLINE void pair_shorts(int16_t *to, const int16_t *even, const int16_t *odd, int32_t count) {
  int32_t j = 0;
#if defined(VECTORS)
  for (; j + 8 <= count; j += 8)
    pair_eight(to + 2 * j, *(const loose_eight *)(const void *)(even + j), *(const loose_eight *)(const void *)(odd + j));
#endif
  for (; j < count; ++j) {
    to[2 * j] = even[j];
    to[2 * j + 1] = odd[j];
  }
})";

constexpr std::string_view kPairBytes =
    R"(INLINE void pair_bytes_$S(int16_t *to, const $T *even, const $T *odd, int32_t count, int16_t zero) {
  int32_t j = 0;
#if defined(VECTORS)
  for (; j + 8 <= count; j += 8)
    pair_eight(to + 2 * j, __builtin_convertvector(*(const loose_octet_$S *)(const void *)(even + j), eight) - zero,
               __builtin_convertvector(*(const loose_octet_$S *)(const void *)(odd + j), eight) - zero);
#endif
  for (; j < count; ++j) {
    to[2 * j] = (int16_t)(even[j] - zero);
    to[2 * j + 1] = (int16_t)(odd[j] - zero);
  }
})";

constexpr std::string_view kWide = R"(#if defined(VECTORS)
typedef $T bytes_$S __attribute__((vector_size(16)));
typedef bytes_$S loose_bytes_$S __attribute__((aligned(1), may_alias));
INLINE shorts shorts_of_$S(const $T *from) {
  return __builtin_convertvector(*(const loose_bytes_$S *)(const void *)from, shorts);
}
#endif)";

// Rows minus a zero point. Vectors overlap at the end instead of a scalar tail.
constexpr std::string_view kLine =
    R"(#if defined(VECTORS)
typedef $T octet_$S __attribute__((vector_size($V)));
typedef octet_$S loose_octet_$S __attribute__((aligned(1), may_alias));
#endif
INLINE void line_$S(const $T *restrict from, int16_t *restrict to, int32_t count, int16_t zero) {
#if defined(VECTORS)
  if (count >= 8) {
    for (int32_t i = 0;; i = i + 16 < count ? i + 8 : count - 8) {
      const octet_$S eight_bytes = *(const loose_octet_$S *)(const void *)(from + i);
      *(loose_eight *)(void *)(to + i) = __builtin_convertvector(eight_bytes, eight) - zero;
      if (i == count - 8) return;
    }
  }
#endif
  for (int32_t i = 0; i < count; ++i) to[i] = (int16_t)(from[i] - zero);
})";

constexpr std::string_view kWiden =
    R"(ALONE static void widen_$S(const $T *restrict from, int16_t *restrict to, int32_t rows, int32_t height, int32_t count,
                     int32_t width, const int32_t *zero, int32_t zero_step) {
  for (int32_t r = 0; r < height; ++r, to += width) {
    if (r < rows) {
      const int16_t less = (int16_t)zero[r * zero_step];
      for (int32_t i = 0; i < count; ++i) to[i] = (int16_t)(from[r * count + i] - less);
    }
    for (int32_t i = r < rows ? count : 0; i < width; ++i) to[i] = 0;
  }
})";

// Requantizes 16 sums with one bias and factor.
constexpr std::string_view kRequantize =
    R"(INLINE void requantize_$S(const int32_t *restrict sums, const int32_t *restrict bias, const float *restrict factor,
                            int32_t low, int32_t high, int32_t zero, $T *restrict quantized) {
#if defined(VNNI)
  typedef $T sixteen __attribute__((vector_size(16)));
  typedef sixteen loose_sixteen __attribute__((aligned(1), may_alias));
  const wide_ints least = all_ints(0x4B400000 + low), most = all_ints(0x4B400000 + high);
  wide_ints integer = *(const loose_wide_ints *)(const void *)sums;
  integer = (wide_ints)(__builtin_convertvector(integer + bias[0], wide_reals) * factor[0] + 12582912.0f);
  OF_THREE("vpmaxsd", "=v"(integer), integer, least);
  OF_THREE("vpminsd", "=v"(integer), integer, most);
  *(loose_sixteen *)(void *)quantized = __builtin_convertvector(integer + (zero - 0x4B400000), sixteen);
#elif defined(VECTORS)
  const int32_t less = zero - 0x4B400000;
  const ints point = {less, less, less, less, less, less, less, less};
  const int32_t b = bias[0];
  const float f = factor[0];
  const ints add = {b, b, b, b, b, b, b, b};
  const reals by = {f, f, f, f, f, f, f, f};
  halves packed;
  four mixed, quantized4;
  packed.all = __builtin_ia32_packssdw256(to_wide_code(ints_at(sums), add, by, point),
                                          to_wide_code(ints_at(sums + 8), add, by, point));
  (void)low, (void)high;
  /* Its halves have numbers 0 to 3 and 8 to 11, 4 to 7 and 12 to 15. */
  mixed = (four)$pack(packed.half[0], packed.half[1]);
  quantized4 = (four){mixed[0], mixed[2], mixed[1], mixed[3]};
  *(loose_four *)(void *)quantized = quantized4;
#else
  for (int32_t j = 0; j < 16; ++j)
    quantized[j] = ($T)to_code((float)(sums[j] + bias[0]) * factor[0], low, high, zero);
#endif
})";

constexpr std::string_view kRequantizeWide =
    R"(INLINE void requantize_$S(const int32_t *restrict sums, const int32_t *restrict bias, const float *restrict factor,
                            int32_t low, int32_t high, int32_t zero, $T *restrict quantized) {
  for (int32_t j = 0; j < 16; ++j)
    quantized[j] = ($T)to_code((float)(sums[j] + bias[0]) * factor[0], low, high, zero);
})";

// Quantized outputs of `count` pixels of one channel, each the sum of products of inputs at `offsets`.
constexpr std::string_view kTaps =
    R"($how void taps_$S(const int16_t *restrict x, const int32_t *restrict offsets, const int16_t *restrict weights,
                          int32_t pairs, int32_t count, int32_t bias, float factor, int32_t low, int32_t high,
                          int32_t zero, $T *restrict quantized) {
#if defined(VECTORS)
  const int32_t less = zero - 0x4B400000;
  const ints point = {less, less, less, less, less, less, less, less};
  const ints add = {bias, bias, bias, bias, bias, bias, bias, bias};
  const reals by = {factor, factor, factor, factor, factor, factor, factor, factor};
  (void)low, (void)high;
  for (int32_t i = 0; i < count; i += 32) {
    ints s0 = {0}, s1 = s0, s2 = s0, s3 = s0;
    halves packed;
    for (int32_t p = 0; p < pairs; ++p) {
      const int16_t *even = x + i + offsets[2 * p], *odd = x + i + offsets[2 * p + 1];
      const ints pair = pair_at(weights + 2 * p);
      const shorts a = shorts_at(even), b = shorts_at(odd), c = shorts_at(even + 16), d = shorts_at(odd + 16);
      s0 += products(LOW_PAIRS(a, b), pair);
      s1 += products(HIGH_PAIRS(a, b), pair);
      s2 += products(LOW_PAIRS(c, d), pair);
      s3 += products(HIGH_PAIRS(c, d), pair);
    }
    packed.all = __builtin_ia32_packssdw256(to_wide_code(s0, add, by, point), to_wide_code(s1, add, by, point));
    *(loose_four *)(void *)(quantized + i) = (four)$pack(packed.half[0], packed.half[1]);
    packed.all = __builtin_ia32_packssdw256(to_wide_code(s2, add, by, point), to_wide_code(s3, add, by, point));
    *(loose_four *)(void *)(quantized + i + 16) = (four)$pack(packed.half[0], packed.half[1]);
  }
#else
  for (int32_t i = 0; i < count; ++i) {
    int32_t sum = bias;
    for (int32_t p = 0; p < 2 * pairs; ++p) sum += x[i + offsets[p]] * weights[p];
    quantized[i] = ($T)to_code((float)sum * factor, low, high, zero);
  }
#endif
})";

// The same for 16-bit outputs, or 64-bit sums: in blocks, so that compilers vectorize it.
constexpr std::string_view kPlainTaps =
    R"($how void $name(const int16_t *restrict x, const int32_t *restrict offsets, const int16_t *restrict weights,
                          int32_t pairs, int32_t count, int32_t bias, float factor, int32_t low, int32_t high,
                          int32_t zero, $T *restrict quantized) {
  for (int32_t i = 0; i < count; i += 32) {
    $A sums[32];
    for (int32_t j = 0; j < 32; ++j) sums[j] = bias;
    for (int32_t p = 0; p < 2 * pairs; ++p) {
      const int16_t *from = x + i + offsets[p];
      for (int32_t j = 0; j < 32; ++j) sums[j] += from[j] * weights[p];
    }
    for (int32_t j = 0; j < 32; ++j) quantized[i + j] = ($T)to_code((float)sums[j] * factor, low, high, zero);
  }
})";

constexpr std::string_view kPairHalves = R"(#if defined(VECTORS) && (defined(__clang__) || __GNUC__ >= 12)
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined(VECTORS)
#define LOW_PAIRS(a, b) __builtin_shuffle(a, b, (shorts){0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27})
#define HIGH_PAIRS(a, b) __builtin_shuffle(a, b, (shorts){4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31})
#endif)";

// Requantizes the sums of a tile's row and stores them to chunks of the output.
constexpr std::string_view kFinish =
    R"($how void $name(const int32_t *restrict sums, const int32_t *bias, const float *factor, int32_t low,
                               int32_t high, int32_t zero, $T *restrict y, const int32_t *places, int32_t width) {
  $T quantized[16];
  $quantized;
  for (int32_t i = 0; i < 16 / $C; ++i) {
    $T *to = y + places[i];
    if (width == $C) {
      for (int32_t j = 0; j < $C; ++j) to[j] = quantized[i * $C + j];
    } else {
      for (int32_t j = 0; j < width; ++j) to[j] = quantized[i * $C + j];
    }
  }
})";

Names names(const Value& value) {
  return {{"S", std::string(short_name(value))},
          {"T", std::string(value.c())},
          {"V", fmt::format("{}", 8 * value.info().bytes)}};
}

}  // namespace

void need_tile(Node& node) {
  need_vectors(node);
  node.helper("tile", tile_text(node, "tile", "int16_t", true, "shorts_at"));
}

std::string need_byte_tile(Node& node, const Value& right) {
  need_vectors(node);
  const std::string at = fmt::format("shorts_of_{}", short_name(right));
  node.helper(at, filled(kWide, names(right)));
  std::string name = fmt::format("tile_{}", short_name(right));
  node.helper(name, tile_text(node, name, right.c(), false, at));
  return name;
}

void need_pair_shorts(Node& node) {
  need_vectors(node);
  node.helper("interleave", kInterleave);
  node.helper("pair_shorts", kPairShorts);
}

std::string need_pair_bytes(Node& node, const Value& value) {
  need_line(node, value);
  node.helper("interleave", kInterleave);
  std::string name = fmt::format("pair_bytes_{}", short_name(value));
  node.helper(name, filled(kPairBytes, names(value)));
  return name;
}

void need_line(Node& node, const Value& value) {
  need_vectors(node);
  node.helper(fmt::format("line_{}", short_name(value)), filled(kLine, names(value)));
}

std::string need_widen(Node& node, const Value& value) {
  std::string name = fmt::format("widen_{}", short_name(value));
  node.helper(name, filled(kWiden, names(value)));
  return name;
}

namespace {

Names code_names(const Value& out) {
  Names all = names(out);
  all.push_back({"pack", is_signed(out) ? "__builtin_ia32_packsswb128" : "__builtin_ia32_packuswb128"});
  return all;
}

// With the preference performance the function is copied into callers, with sizes as literals.
std::string_view own_copies(const Node& node) { return node.fast() ? "INLINE" : "ALONE static"; }

}  // namespace

void need_vectors(Node& node) { node.helper("vectors", kVectors); }

std::string need_taps(Node& node, const Value& out) {
  need_to_code(node);
  need_vectors(node);
  node.helper("pair_halves", kPairHalves);
  std::string name = fmt::format("taps_{}", short_name(out));
  Names all = code_names(out);
  all.insert(all.end(), {{"how", std::string(own_copies(node))}, {"name", name}, {"A", "int32_t"}});
  node.helper(name, filled(is_byte(out) ? kTaps : kPlainTaps, all));
  return name;
}

std::string need_far_taps(Node& node, const Value& out) {
  need_to_code(node);
  std::string name = fmt::format("far_taps_{}", short_name(out));
  Names all = code_names(out);
  all.insert(all.end(), {{"how", "ALONE static"}, {"name", name}, {"A", "int64_t"}});
  node.helper(name, filled(kPlainTaps, all));
  return name;
}

std::string need_requantize(Node& node, const Value& out) {
  need_to_code(node);
  need_vectors(node);
  const Names all = code_names(out);
  std::string name = fmt::format("requantize_{}", short_name(out));
  node.helper(name, filled(is_byte(out) ? kRequantize : kRequantizeWide, all));
  return name;
}

namespace {

std::string need_finish_named(Node& node, const std::string& name, const Value& out, std::int64_t chunk,
                              const std::string& quantized) {
  Names all = names(out);
  all.push_back({"name", name});
  all.push_back({"quantized", quantized});
  all.push_back({"C", fmt::format("{}", chunk)});
  // GCC 12 does not see that the vector stores initialize the sums, and warns.
  const bool wide = out.info().bits == 16;
  all.push_back({"how", std::string(wide ? "ALONE static" : own_copies(node))});
  node.helper(name, filled(kFinish, all));
  return name;
}

}  // namespace

std::string need_finish(Node& node, const Value& out, std::int64_t chunk) {
  std::string quantized =
      "for (int32_t j = 0; j < 16; ++j) quantized[j] = sums[j];\n  (void)bias, (void)factor, (void)low, "
      "(void)high, (void)zero";
  if (out.type != Element::int32)
    quantized = need_requantize(node, out) + "(sums, bias, factor, low, high, zero, quantized)";
  return need_finish_named(node, fmt::format("finish_{}_{}", short_name(out), chunk), out, chunk, quantized);
}

std::string need_wide_finish(Node& node, const Value& out, std::int64_t chunk, const Parts& parts) {
  need_to_code(node);
  const std::string quantized = fmt::format(
      "for (int32_t j = 0; j < 16; ++j)\n"
      "    quantized[j] = ({})to_code((float)({} + bias[0]) * factor[0], low, high, zero)",
      out.c(), parts.sum("sums", kTileSums, "j"));
  const std::string name = fmt::format("finish_{}_{}_{}", short_name(out), chunk, parts.name());
  return need_finish_named(node, name, out, chunk, quantized);
}

}  // namespace anybit::cgen
