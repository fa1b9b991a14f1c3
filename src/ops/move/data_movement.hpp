// Data movement at run time: strided views of arrays, and indices that come from tensors.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// The elements of an array that a copy visits: offset of the first one, and the stride of each axis.
struct View {
  std::int64_t first = 0;
  Dims strides;
};

// to[view] = from[view], element by element over `sizes`, in parallel. Both views lie inside their arrays.
void copy_view(const Frame& frame, const Dims& sizes, const Array& from, const View& from_view, Array& to,
               const View& to_view);
// The same, to all of `to` in row-major order.
void copy_view(const Frame& frame, const Array& from, const View& from_view, Array& to);

// The dims in which a layout stores its elements in row-major order ([batch, channels / 8, space…, 8] for
// blocked channels), and the position of an axis among them.
Dims stored_dims(const Dims& dims, Layout layout);
std::size_t stored_axis(std::size_t axis, std::size_t rank, Layout layout);

// Non-negative axes; an error for duplicates and for axes outside the rank.
Result<Dims> axes_within(std::span<const std::int64_t> axes, std::size_t rank);

// Calls body(int32_t()) or body(int64_t()); false if `type` is neither.
template <class Body>
bool for_index(ElementType type, const Body& body) {
  if (type == ElementType::int64) return body(std::int64_t()), true;
  if (type == ElementType::int32) return body(std::int32_t()), true;
  return false;
}

// A non-negative index into an axis of `size`; -1 if it is out of range.
template <class T>
std::int64_t place_of(T index, std::int64_t size) {
  const auto wide = static_cast<std::int64_t>(index);
  if (wide < -size || wide >= size) return -1;
  return wide < 0 ? wide + size : wide;
}

// Checks that input i holds int32 or int64 indices of an axis of `size`.
Result<void> check_indices(const Frame& frame, std::size_t i, std::int64_t size);
Error index_outside(std::int64_t index, std::int64_t size);

}  // namespace anybit::ops
