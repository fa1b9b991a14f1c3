// Matrix transpose in square blocks of a vector's lanes; images of 2 to 4 channels use interleaving loads and
// stores.
#include "kernels/move/copy.hpp"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/move/transpose_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE void Plain(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride,
                      std::ptrdiff_t rows, std::ptrdiff_t columns) {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    for (std::ptrdiff_t c = 0; c < columns; ++c) to[r * to_stride + c] = from[c * from_stride + r];
  }
}

#if HWY_TARGET == HWY_SCALAR  // vectors have one lane

template <class T>
HWY_INLINE void Any(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                    std::int64_t columns) {
  Plain(from, from_stride, to, to_stride, rows, columns);
}

#else

// One block. Interleaving the first half of the rows with the second, log2(lanes) times, is a transpose.
template <class T>
HWY_INLINE void Block(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride) {
  constexpr std::size_t kLanes = 16 / sizeof(T);
  const hn::Full128<T> d;
  hn::Vec<hn::Full128<T> > v[kLanes], w[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i)
    v[i] = hn::LoadU(d, from + static_cast<std::ptrdiff_t>(i) * from_stride);
  for (std::size_t step = 1; step < kLanes; step *= 2) {
    for (std::size_t i = 0; i < kLanes / 2; ++i) {
      w[2 * i] = hn::InterleaveLower(d, v[i], v[i + kLanes / 2]);
      w[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kLanes / 2]);
    }
    for (std::size_t i = 0; i < kLanes; ++i) v[i] = w[i];
  }
  for (std::size_t i = 0; i < kLanes; ++i)
    hn::StoreU(v[i], d, to + static_cast<std::ptrdiff_t>(i) * to_stride);
}

// Panels of one cache line of columns: the source is read in that many streams, and each line of the target
// is written at once.
template <class T>
HWY_INLINE void Blocks(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride,
                       std::ptrdiff_t rows, std::ptrdiff_t columns) {
  constexpr std::ptrdiff_t kLanes = 16 / sizeof(T), kPanel = 64 / sizeof(T);
  const std::ptrdiff_t integer_rows = rows / kLanes * kLanes, integer_columns = columns / kLanes * kLanes;
  for (std::ptrdiff_t panel = 0; panel < integer_columns; panel += kPanel) {
    const std::ptrdiff_t end = std::min(panel + kPanel, integer_columns);
    for (std::ptrdiff_t r = 0; r < integer_rows; r += kLanes) {
      for (std::ptrdiff_t c = panel; c < end; c += kLanes) {
        Block(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
      }
    }
  }
  Plain(from + integer_columns * from_stride, from_stride, to + integer_columns, to_stride, rows,
        columns - integer_columns);
  Plain(from + integer_rows, from_stride, to + integer_rows * to_stride, to_stride, rows - integer_rows,
        integer_columns);
}

// Interleaves channels: `columns` planes become one run of small groups.
template <class T>
HWY_INLINE bool Join(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride,
                     std::ptrdiff_t rows, std::ptrdiff_t columns) {
  if (columns < 2 || columns > 4 || to_stride != columns) return false;
  constexpr std::ptrdiff_t kLanes = 16 / sizeof(T);
  const hn::Full128<T> d;
  const auto plane = [&](std::ptrdiff_t c, std::ptrdiff_t r)
                         HWY_ATTR { return hn::LoadU(d, from + c * from_stride + r); };
  std::ptrdiff_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    T* group = to + r * to_stride;
    if (columns == 2) hn::StoreInterleaved2(plane(0, r), plane(1, r), d, group);
    if (columns == 3) hn::StoreInterleaved3(plane(0, r), plane(1, r), plane(2, r), d, group);
    if (columns == 4) hn::StoreInterleaved4(plane(0, r), plane(1, r), plane(2, r), plane(3, r), d, group);
  }
  Plain(from + r, from_stride, to + r * to_stride, to_stride, rows - r, columns);
  return true;
}

// Deinterleaves channels: one run of small groups becomes `rows` planes.
template <class T>
HWY_INLINE bool Part(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride,
                     std::ptrdiff_t rows, std::ptrdiff_t columns) {
  if (rows < 2 || rows > 4 || from_stride != rows) return false;
  constexpr std::ptrdiff_t kLanes = 16 / sizeof(T);
  const hn::Full128<T> d;
  hn::Vec<hn::Full128<T> > v[4];
  std::ptrdiff_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    const T* group = from + c * from_stride;
    if (rows == 2) hn::LoadInterleaved2(d, group, v[0], v[1]);
    if (rows == 3) hn::LoadInterleaved3(d, group, v[0], v[1], v[2]);
    if (rows == 4) hn::LoadInterleaved4(d, group, v[0], v[1], v[2], v[3]);
    for (std::ptrdiff_t r = 0; r < rows; ++r) hn::StoreU(v[r], d, to + r * to_stride + c);
  }
  Plain(from + c * from_stride, from_stride, to + c, to_stride, rows, columns - c);
  return true;
}

template <class T>
HWY_INLINE void Any(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                    std::int64_t columns) {
  if (Join(from, from_stride, to, to_stride, rows, columns)) return;
  if (Part(from, from_stride, to, to_stride, rows, columns)) return;
  Blocks(from, from_stride, to, to_stride, rows, columns);
}

#endif

// A type cannot stand in parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
#define ANYBIT_TRANSPOSE(NAME, T)                                                                      \
  void NAME(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows, \
            std::int64_t columns) {                                                                    \
    Any(from, from_stride, to, to_stride, rows, columns);                                              \
  }
// NOLINTEND(bugprone-macro-parentheses)
ANYBIT_TRANSPOSE(Transpose8, std::uint8_t)
ANYBIT_TRANSPOSE(Transpose16, std::uint16_t)
ANYBIT_TRANSPOSE(Transpose32, std::uint32_t)
ANYBIT_TRANSPOSE(Transpose64, std::uint64_t)
#undef ANYBIT_TRANSPOSE

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace anybit::kernels {

HWY_EXPORT(Transpose8);
HWY_EXPORT(Transpose16);
HWY_EXPORT(Transpose32);
HWY_EXPORT(Transpose64);

// A specialisation does not take the compiler's word for what is hidden.
// A type cannot stand in parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
#define ANYBIT_TRANSPOSE(NAME, T)                                                                         \
  template <>                                                                                             \
  __attribute__((visibility("hidden"))) void transpose<T>(const T* from, std::int64_t from_stride, T* to, \
                                                          std::int64_t to_stride, std::int64_t rows,      \
                                                          std::int64_t columns) {                         \
    HWY_DYNAMIC_DISPATCH(NAME)(from, from_stride, to, to_stride, rows, columns);                          \
  }
// NOLINTEND(bugprone-macro-parentheses)
ANYBIT_TRANSPOSE(Transpose8, std::uint8_t)
ANYBIT_TRANSPOSE(Transpose16, std::uint16_t)
ANYBIT_TRANSPOSE(Transpose32, std::uint32_t)
ANYBIT_TRANSPOSE(Transpose64, std::uint64_t)
#undef ANYBIT_TRANSPOSE

}  // namespace anybit::kernels

#endif
