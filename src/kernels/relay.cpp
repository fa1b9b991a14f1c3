// Tiles of 4 x 4 words and 8 x 8 bytes in registers. Vectors of 128 bits, which every CPU has and
// both compilers know: the work is bound by memory.
#include "kernels/relay.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace anybit::kernels {
namespace {

// Tiles are visited in blocks of so many rows and columns, so that lines of the cache are used up.
constexpr std::int64_t kBlock = 64;

template <class T>
void turn_edge(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
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
};

struct Octets {
  using T = std::uint8_t;
  using Bytes = Vector<std::uint8_t, 16>::type;
  using Pairs = Vector<std::uint16_t, 16>::type;
  using Fours = Vector<std::uint32_t, 16>::type;
  static constexpr std::int64_t kSide = 8;

  static Pairs pair(const T* from, std::int64_t from_stride) {  // two rows, element by element
    Bytes a = {}, b = {};
    std::memcpy(&a, from, 8);
    std::memcpy(&b, from + from_stride, 8);
    return reinterpret_cast<Pairs>(
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
  }
  static Fours low(Pairs a, Pairs b) {
    return reinterpret_cast<Fours>(__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
  }
  static Fours high(Pairs a, Pairs b) {
    return reinterpret_cast<Fours>(__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
  }
  static void store_two(Fours columns, T* to, std::int64_t to_stride) {
    std::array<T, 16> bytes;
    std::memcpy(bytes.data(), &columns, 16);
    std::memcpy(to, bytes.data(), 8);
    std::memcpy(to + to_stride, bytes.data() + 8, 8);
  }
  static void tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
    const auto rows = [&](std::int64_t r) { return pair(from + r * from_stride, from_stride); };
    const Pairs r01 = rows(0), r23 = rows(2), r45 = rows(4), r67 = rows(6);
    const Fours low0 = low(r01, r23), high0 = high(r01, r23), low4 = low(r45, r67), high4 = high(r45, r67);
    store_two(__builtin_shufflevector(low0, low4, 0, 4, 1, 5), to, to_stride);
    store_two(__builtin_shufflevector(low0, low4, 2, 6, 3, 7), to + 2 * to_stride, to_stride);
    store_two(__builtin_shufflevector(high0, high4, 0, 4, 1, 5), to + 4 * to_stride, to_stride);
    store_two(__builtin_shufflevector(high0, high4, 2, 6, 3, 7), to + 6 * to_stride, to_stride);
  }
};

template <class Tile, class T>
void turn_tiles(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                std::int64_t to_stride) {
  constexpr std::int64_t side = Tile::kSide;
  const std::int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  for (std::int64_t r0 = 0; r0 < whole_rows; r0 += kBlock) {
    const std::int64_t r1 = std::min(r0 + kBlock, whole_rows);
    for (std::int64_t c0 = 0; c0 < whole_columns; c0 += kBlock) {
      const std::int64_t c1 = std::min(c0 + kBlock, whole_columns);
      for (std::int64_t r = r0; r < r1; r += side) {
        for (std::int64_t c = c0; c < c1; c += side) {
          Tile::tile(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
        }
      }
    }
  }
  turn_edge(whole_rows, columns - whole_columns, from + whole_columns, from_stride,
            to + whole_columns * to_stride, to_stride);
  turn_edge(rows - whole_rows, columns, from + whole_rows * from_stride, from_stride, to + whole_rows,
            to_stride);
}

}  // namespace

template <>
void turn_over(std::int64_t rows, std::int64_t columns, const std::uint32_t* from, std::int64_t from_stride,
               std::uint32_t* to, std::int64_t to_stride) {
  turn_tiles<Words>(rows, columns, from, from_stride, to, to_stride);
}

template <>
void turn_over(std::int64_t rows, std::int64_t columns, const std::uint8_t* from, std::int64_t from_stride,
               std::uint8_t* to, std::int64_t to_stride) {
  turn_tiles<Octets>(rows, columns, from, from_stride, to, to_stride);
}

}  // namespace anybit::kernels
