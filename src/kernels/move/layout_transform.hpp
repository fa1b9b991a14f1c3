// Matrix transpose for elements of 1, 2, 4 or 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// to[c * to_stride + r] = from[r * from_stride + c]; strides in elements.
template <class T>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                     std::int64_t to_stride);
template <>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const std::uint32_t* from,
                     std::int64_t from_stride, std::uint32_t* to, std::int64_t to_stride);
template <>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const std::uint8_t* from,
                     std::int64_t from_stride, std::uint8_t* to, std::int64_t to_stride);

template <class T>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_stride, T* to,
                     std::int64_t to_stride) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace anybit::kernels
