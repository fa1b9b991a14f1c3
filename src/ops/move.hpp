// Moving elements while a model runs: views of arrays, and indices that come from tensors.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// Which elements of an array a copy goes over: where the first lies, and the way to the next on each axis.
struct View {
  std::int64_t first = 0;
  Dims strides;
};

// to[view] = from[view], element by element over `sizes`, on the threads. Both views lie inside their arrays.
void copy_view(const Frame& frame, const Dims& sizes, const Array& from, const View& from_view, Array& to,
               const View& to_view);
// The same onto the whole of `to`, row by row.
void copy_view(const Frame& frame, const Array& from, const View& from_view, Array& to);

// The dims under which the elements of a layout lie row by row: [batch, channels / 8, space…, 8] if they are
// blocked; and where an axis is found among them.
Dims stored_dims(const Dims& dims, Layout layout);
std::size_t stored_axis(std::size_t axis, std::size_t rank, Layout layout);

// Axes counted from the front, none twice.
Result<Dims> axes_within(std::span<const std::int64_t> axes, std::size_t rank);

// Calls body(int32_t()) or body(int64_t()); false if `type` is neither.
template <class Body>
bool for_index(ElementType type, const Body& body) {
  if (type == ElementType::int64) return body(std::int64_t()), true;
  if (type == ElementType::int32) return body(std::int32_t()), true;
  return false;
}

// An index of an axis of `size`, counted from the front; -1 if it is outside.
template <class T>
std::int64_t place_of(T index, std::int64_t size) {
  const auto wide = static_cast<std::int64_t>(index);
  if (wide < -size || wide >= size) return -1;
  return wide < 0 ? wide + size : wide;
}

// Input i holds int32 or int64, all of them indices of an axis of `size`.
Result<void> check_indices(const Frame& frame, std::size_t i, std::int64_t size);
Error index_outside(std::int64_t index, std::int64_t size);

}  // namespace anybit::ops
