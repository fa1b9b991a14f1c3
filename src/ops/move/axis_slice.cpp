#include "ops/move/axis_slice.hpp"

namespace anybit::ops {
namespace {

// Calls copy(T(), offset in the part, offset in the whole, elements) for each row.
template <class Copy>
void each_row(const Array& whole, std::size_t axis, std::int64_t at, std::int64_t size, const Copy& copy) {
  const Dims& dims = whole.dims();
  const std::int64_t inner = dims.product(axis + 1, dims.size());
  const std::int64_t rows = dims.product(0, axis);
  if (size * inner == 0) return;
  for_copied(whole.type(), [&]<class T>(T) {
    for (std::int64_t row = 0; row < rows; ++row) {
      copy(T(), row * size * inner, (row * dims[axis] + at) * inner, size * inner);
    }
  });
}

}  // namespace

void put_part(const Array& part, Array& whole, std::size_t axis, std::int64_t at, std::int64_t size) {
  each_row(whole, axis, at, size, [&]<class T>(T, std::int64_t from, std::int64_t to, std::int64_t elements) {
    std::copy_n(part.data<T>() + from, elements, whole.mutable_data<T>() + to);
  });
}

void take_part(const Array& whole, Array& part, std::size_t axis, std::int64_t at, std::int64_t size) {
  each_row(whole, axis, at, size, [&]<class T>(T, std::int64_t to, std::int64_t from, std::int64_t elements) {
    std::copy_n(whole.data<T>() + from, elements, part.mutable_data<T>() + to);
  });
}

}  // namespace anybit::ops
