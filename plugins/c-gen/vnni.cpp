#include "vnni.hpp"

#include "numbers.hpp"
#include "tiles.hpp"

namespace anybit::cgen {
namespace {

// A tile of `rows` rows. Each accumulator has its own name, so that it stays in a register.
std::string rows_of_dot4(std::int64_t rows, std::string_view step, std::string_view columns,
                         std::string_view factors) {
  std::string text = "    wide_ints s0 = {0}";
  for (std::int64_t r = 1; r < rows; ++r) text += fmt::format(", s{} = s0", r);
  text += fmt::format(";\n    for (int32_t k = 0; k < depth; k += 4, right += {}) {{\n", step);
  text += fmt::format("      const wide_ints columns = {};\n", columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::string row = fmt::format("dot4_at(left + {} * depth + k)", r);
    text += fmt::format("      ADD_DOT4(s{}, {});\n", r, filled(factors, {{"row", row}}));
  }
  text += "    }\n";
  for (std::int64_t r = 0; r < rows; ++r)
    text += fmt::format("    *(loose_wide_ints *)(void *)(sums + {}) = s{};\n", 16 * r, r);
  return text;
}

std::string all_rows_of_dot4(std::string_view head, std::string_view step, std::string_view columns,
                             std::string_view factors) {
  std::string text = fmt::format("#if defined(VNNI)\n{} {{\n", head);
  for (std::int64_t rows = 1; rows < kDot4TileRows; ++rows)
    text += fmt::format("  if (rows == {}) {{\n{}    return;\n  }}\n", rows,
                        rows_of_dot4(rows, step, columns, factors));
  return text + fmt::format("  {{\n{}  }}\n}}\n#endif", rows_of_dot4(kDot4TileRows, step, columns, factors));
}

constexpr std::string_view kDot4Tile =
    R"(ALONE static void dot4_tile(const uint8_t *restrict right, int32_t step, const int8_t *restrict left, int32_t rows,
    int32_t depth, int32_t *restrict sums))";

constexpr std::string_view kPanel =
    R"(ALONE static void dot4_panel(const int8_t *restrict right, const uint8_t *restrict left, int32_t rows, int32_t depth,
    int32_t *restrict sums))";

constexpr std::string_view kPairsToDot4 = R"(#if defined(VNNI)
typedef int16_t wide_shorts __attribute__((vector_size(64)));
INLINE wide_ints dot4_of_pairs(const int8_t *from) {
  const wide_shorts pairs = (wide_shorts)*(const loose_wide_ints *)(const void *)from;
  return (wide_ints)__builtin_shufflevector(pairs, pairs, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24,
                                            9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
#endif)";

constexpr std::string_view kShift = R"(#if defined(VNNI)
ALONE static void shift_$S(const $T *restrict from, uint8_t *restrict to, int32_t rows, int32_t count, int32_t width) {
  for (int32_t r = 0; r < rows; ++r, from += count, to += width) {
    for (int32_t i = 0; i < count; ++i) to[i] = (uint8_t)from[i] ^ $flip;
    for (int32_t i = count; i < width; ++i) to[i] = 0;
  }
}
#endif)";

constexpr std::string_view kNarrow = R"(#if defined(VNNI)
ALONE static void narrow_$S(const $T *restrict from, int8_t *restrict to, int32_t rows, int32_t step, int32_t count,
    int32_t width, const int32_t *zero) {
  for (int32_t r = 0; r < rows; ++r, from += step, to += width) {
    const int32_t less = zero ? zero[r] : 0;
    for (int32_t i = 0; i < count; ++i) to[i] = (int8_t)(from[i] - less);
    for (int32_t i = count; i < width; ++i) to[i] = 0;
  }
}
#endif)";

// Rows of bytes minus the lowest integer. Vectors overlap at the end instead of a scalar tail.
constexpr std::string_view kPadVnni = R"(#if defined(VNNI)
ALONE static void pad_dot4_$S(const $T *restrict x, uint8_t *restrict to, int32_t planes, int32_t height, int32_t width,
    int32_t above, int32_t left, int32_t full_height, int32_t full_width, int32_t fill) {
  for (int32_t i = 0; i < planes * full_height * full_width; ++i) to[i] = (uint8_t)fill;
  to += above * full_width + left;
  for (int32_t c = 0; c < planes; ++c, to += (full_height - height) * full_width) {
    for (int32_t h = 0; h < height; ++h, x += width, to += full_width) {
      if (width >= 16) {
        for (int32_t v = 0;; v = v + 32 < width ? v + 16 : width - 16) {
          *(loose_line *)(void *)(to + v) = line_at((const uint8_t *)x + v, 16) ^ $flip;
          if (v == width - 16) break;
        }
      } else if (width >= 8) {
        for (int32_t v = 0;; v = width - 8) {
          *(loose_long *)(void *)(to + v) = ((long_line)(line_at((const uint8_t *)x + v, 8) ^ $flip))[0];
          if (v == width - 8) break;
        }
      } else {
        for (int32_t v = 0; v < width; ++v) to[v] = (uint8_t)x[v] ^ $flip;
      }
    }
  }
}
#endif)";

// Interleaves four rows of bytes into one row of 4-element groups.
constexpr std::string_view kLines = R"(#if defined(VNNI)
typedef uint8_t line __attribute__((vector_size(16)));
typedef int64_t long_line __attribute__((vector_size(16)));
typedef line loose_line __attribute__((aligned(1), may_alias));
typedef int64_t loose_long __attribute__((aligned(1), may_alias));
INLINE line line_at(const uint8_t *from, int32_t count) {
  if (count == 16) return *(const loose_line *)(const void *)from;
  if (count == 8) return (line)(long_line){*(const loose_long *)(const void *)from, 0};
  return (line)(four){*(const loose_pair *)(const void *)from, 0, 0, 0};
}
#define LOW_BYTES(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_BYTES(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
INLINE void dot4_lines(uint8_t *to, line a, line b, line c, line d, int32_t count) {
  const eight ab = (eight)LOW_BYTES(a, b), cd = (eight)LOW_BYTES(c, d);
  if (count == 4) {
    *(loose_eight *)(void *)to = __builtin_shufflevector(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
    return;
  }
  pair_eight((int16_t *)(void *)to, ab, cd);
  if (count == 16) pair_eight((int16_t *)(void *)(to + 32), (eight)HIGH_BYTES(a, b), (eight)HIGH_BYTES(c, d));
}
#endif)";

constexpr std::string_view kGatherVnni = R"(#if defined(VNNI)
ALONE static void gather_dot4_$C(const uint8_t *restrict x, uint8_t *restrict to, const int32_t *places, int32_t chunks,
    int32_t block, const int32_t *sizes) {
  const int32_t depth = sizes[0], step = sizes[6];
  int32_t plane = 0, k1 = 0, k2 = 0;
  for (int32_t k = 0; k < depth; k += 4, to += 4 * block) {
    const uint8_t *from[4];
    for (int32_t side = 0; side < 4; ++side) {
      from[side] = k + side < depth ? x + plane + k1 * sizes[4] + k2 * sizes[5] : from[0];
      if (++k2 < sizes[2]) continue;
      k2 = 0;
      if (++k1 < sizes[1]) continue;
      k1 = 0;
      plane += sizes[3];
    }
    for (int32_t q = 0; q < chunks; ++q) {
      const int32_t place = places[q];
      uint8_t *dot4_groups = to + 4 * $C * q;
      if (step == 1) {
        dot4_lines(dot4_groups, line_at(from[0] + place, $C), line_at(from[1] + place, $C), line_at(from[2] + place, $C),
                   line_at(from[3] + place, $C), $C);
      } else {
        for (int32_t j = 0; j < $C; ++j) {
          for (int32_t side = 0; side < 4; ++side) dot4_groups[4 * j + side] = from[side][place + j * step];
        }
      }
    }
  }
}
#endif)";

constexpr std::string_view kPlanes = R"(#if defined(VNNI)
ALONE static void dot4_planes_$S_$C(const $T *restrict x, uint8_t *restrict to, const int32_t *places, int32_t chunks,
    int32_t block, int32_t channels, int32_t plane) {
  for (int32_t k = 0; k < channels; k += 4, to += 4 * block) {
    const uint8_t *a = (const uint8_t *)x + k * plane, *b = k + 1 < channels ? a + plane : a;
    const uint8_t *c = k + 2 < channels ? b + plane : a, *d = k + 3 < channels ? c + plane : a;
    for (int32_t q = 0; q < chunks; ++q)
      dot4_lines(to + 4 * $C * q, line_at(a + places[q], $C) ^ $flip, line_at(b + places[q], $C) ^ $flip,
                 line_at(c + places[q], $C) ^ $flip, line_at(d + places[q], $C) ^ $flip, $C);
  }
}
#endif)";

Names dot4_names(const Value& value, std::int64_t chunk = 0) {
  return {{"S", std::string(short_name(value))},
          {"T", std::string(value.c())},
          {"C", fmt::format("{}", chunk)},
          {"flip", is_signed(value) ? "0x80" : "0"}};
}

void need_lines(Node& node) {
  need_pair_shorts(node);
  node.helper("dot4_lines", kLines);
}

}  // namespace

void need_dot4_tile(Node& node) {
  need_vectors(node);
  node.helper(
      "dot4_tile",
      all_rows_of_dot4(kDot4Tile, "step", "*(const loose_wide_ints *)(const void *)right", "columns, $row"));
}

void need_dot4_panel(Node& node) {
  need_vectors(node);
  node.helper("dot4_of_pairs", kPairsToDot4);
  node.helper("dot4_panel", all_rows_of_dot4(kPanel, "64", "dot4_of_pairs(right)", "$row, columns"));
}

std::string need_shift(Node& node, const Value& value) {
  std::string name = fmt::format("shift_{}", short_name(value));
  node.helper(name, filled(kShift, dot4_names(value)));
  return name;
}

std::string need_narrow(Node& node, const Value& value) {
  std::string name = fmt::format("narrow_{}", short_name(value));
  node.helper(name, filled(kNarrow, dot4_names(value)));
  return name;
}

std::string need_pad_dot4(Node& node, const Value& value) {
  need_lines(node);
  std::string name = fmt::format("pad_dot4_{}", short_name(value));
  node.helper(name, filled(kPadVnni, dot4_names(value)));
  return name;
}

std::string need_gather_dot4(Node& node, std::int64_t chunk) {
  need_lines(node);
  std::string name = fmt::format("gather_dot4_{}", chunk);
  node.helper(name, filled(kGatherVnni, {{"C", fmt::format("{}", chunk)}}));
  return name;
}

std::string need_dot4_planes(Node& node, const Value& value, std::int64_t chunk) {
  need_lines(node);
  std::string name = fmt::format("dot4_planes_{}_{}", short_name(value), chunk);
  node.helper(name, filled(kPlanes, dot4_names(value, chunk)));
  return name;
}

}  // namespace anybit::cgen
