// Transposes tiles of 4 x 4 words and 16 x 16 bytes in registers. With 128-bit vectors, which every CPU has
// and both compilers support: the work is bound by memory.
#include "kernels/move/layout_transform.hpp"

#include <algorithm>
#include <cstring>

namespace anybit::kernels {
namespace {

// Tiles are visited in blocks of this many rows and columns, so that cache lines are used completely.
constexpr std::int64_t kBlock = 64;

template <class T>
void turn_plainly(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                  std::int64_t to_stride) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

template <class T, std::size_t kBytes>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes)));
};

template <class V, class T>
V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
void store(V v, T* to) {
  std::memcpy(to, &v, sizeof v);
}

struct Words {
  using T = std::uint32_t;
  using V = Vector<T, 16>::type;
  static constexpr std::int64_t kSide = 4;
  static void tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
    const V a = load<V>(from), b = load<V>(from + from_stride);
    const V c = load<V>(from + 2 * from_stride), d = load<V>(from + 3 * from_stride);
    const V ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const V cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const V ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const V cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store(__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), to);
    store(__builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7), to + to_stride);
    store(__builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), to + 2 * to_stride);
    store(__builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7), to + 3 * to_stride);
  }
  static void edge(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                   std::int64_t to_stride) {
    turn_plainly(rows, columns, from, from_stride, to, to_stride);
  }
};

struct Octets {
  using T = std::uint8_t;
  using V = Vector<T, 16>::type;
  static constexpr std::int64_t kSide = 16;

  static V low(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  static V high(V a, V b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
  // Interleaves rows i and i + 8, which rotates the 8-bit index (row, column) of each element by one bit.
  // Four such rotations exchange row and column.
  static void shuffle(const V (&from)[kSide], V (&to)[kSide]) {
    for (std::size_t i = 0; i < kSide / 2; ++i) {
      to[2 * i] = low(from[i], from[i + kSide / 2]);
      to[2 * i + 1] = high(from[i], from[i + kSide / 2]);
    }
  }
  static void turn(V (&a)[kSide]) {
    V b[kSide];
    shuffle(a, b);
    shuffle(b, a);
    shuffle(a, b);
    shuffle(b, a);
  }
  // 16 or 8 rows and columns.
  template <std::size_t kRows, std::size_t kColumns>
  static void part(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
    V a[kSide] = {};
    for (std::size_t i = 0; i < kRows; ++i)
      std::memcpy(&a[i], from + static_cast<std::int64_t>(i) * from_stride, kColumns);
    turn(a);
    for (std::size_t i = 0; i < kColumns; ++i)
      std::memcpy(to + static_cast<std::int64_t>(i) * to_stride, &a[i], kRows);
  }
  static void tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
    part<kSide, kSide>(from, from_stride, to, to_stride);
  }
  static void edge(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                   std::int64_t to_stride) {
    if (rows == 16 && columns == 8) return part<16, 8>(from, from_stride, to, to_stride);
    if (rows == 8 && columns == 16) return part<8, 16>(from, from_stride, to, to_stride);
    turn_plainly(rows, columns, from, from_stride, to, to_stride);
  }
};

template <class Tile, class T>
void turn_tiles(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                std::int64_t to_stride) {
  constexpr std::int64_t side = Tile::kSide;
  const std::int64_t integer_rows = rows / side * side, integer_columns = columns / side * side;
  for (std::int64_t r0 = 0; r0 < integer_rows; r0 += kBlock) {
    const std::int64_t r1 = std::min(r0 + kBlock, integer_rows);
    for (std::int64_t c0 = 0; c0 < integer_columns; c0 += kBlock) {
      const std::int64_t c1 = std::min(c0 + kBlock, integer_columns);
      for (std::int64_t r = r0; r < r1; r += side) {
        for (std::int64_t c = c0; c < c1; c += side) {
          Tile::tile(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
        }
      }
    }
  }
  const auto edge = [&](std::int64_t r, std::int64_t c) {
    Tile::edge(std::min(side, rows - r), std::min(side, columns - c), from + r * from_stride + c, from_stride,
               to + c * to_stride + r, to_stride);
  };
  for (std::int64_t r = 0; r < integer_rows && integer_columns < columns; r += side) edge(r, integer_columns);
  for (std::int64_t c = 0; c < columns && integer_rows < rows; c += side) edge(integer_rows, c);
}

}  // namespace

template <>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const std::uint32_t* from,
                     std::int64_t from_stride, std::uint32_t* to, std::int64_t to_stride) {
  turn_tiles<Words>(rows, columns, from, from_stride, to, to_stride);
}

template <>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const std::uint8_t* from,
                     std::int64_t from_stride, std::uint8_t* to, std::int64_t to_stride) {
  turn_tiles<Octets>(rows, columns, from, from_stride, to, to_stride);
}

}  // namespace anybit::kernels
