#include "ops/move/data_movement.hpp"

#include <algorithm>

#include "kernels/move/copy.hpp"
#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr double kNanosecondsPerByte = 0.2;

}  // namespace

void copy_view(const Frame& frame, const Dims& sizes, const Array& from, const View& from_view, Array& to,
               const View& to_view) {
  std::array<kernels::CopyAxis, Dims::kCapacity> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    axes[i] = {sizes[i], from_view.strides[i], to_view.strides[i]};
  const kernels::StridedCopy copy(std::span(axes.data(), sizes.size()));
  if (copy.parts() == 0) return;
  for_copied(from.type(), [&]<class T>(T) {
    const T* source = from.data<T>() + from_view.first;
    T* target = to.mutable_data<T>() + to_view.first;
    const auto body = [&](std::int64_t first, std::int64_t last) { copy.run(source, target, first, last); };
    const auto bytes = static_cast<double>(copy.part_elements()) * static_cast<double>(sizeof(T));
    parallel(frame, copy.parts(), bytes * kNanosecondsPerByte, std::ref(body));
  });
}

void copy_view(const Frame& frame, const Array& from, const View& from_view, Array& to) {
  copy_view(frame, to.dims(), from, from_view, to, {0, strides_of(to.dims())});
}

Dims stored_dims(const Dims& dims, Layout layout) {
  if (layout == Layout::plain) return dims;
  Dims stored{dims[0]};
  if (layout == Layout::blocked8) stored.push_back((dims[1] + 7) / 8);
  for (std::size_t i = 2; i < dims.size(); ++i) stored.push_back(dims[i]);
  stored.push_back(layout == Layout::blocked8 ? 8 : dims[1]);
  return stored;
}

std::size_t stored_axis(std::size_t axis, std::size_t rank, Layout layout) {
  if (layout != Layout::channels_last || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

Result<Dims> axes_within(std::span<const std::int64_t> axes, std::size_t rank) {
  if (axes.size() > rank) return wrong(fmt::format("{} axes are given for rank {}", axes.size(), rank));
  Dims result;
  for (const std::int64_t axis : axes) {
    const auto found = static_cast<std::int64_t>(TRY(axis_of(axis, rank)));
    if (std::ranges::find(result.span(), found) != result.span().end())
      return wrong(fmt::format("axis {} is given twice", axis));
    result.push_back(found);
  }
  return result;
}

Result<void> check_indices(const Frame& frame, std::size_t i, std::int64_t size) {
  const Array& indices = frame.in(i);
  Result<void> result;
  if (size == 0 && indices.count() > 0) result = index_outside(0, size);
  const auto check = [&]<class T>(T) {
    if (!result.ok() || !has_elements(indices)) return;
    for (const T index : indices.elements<T>()) {
      if (place_of(index, size) < 0) {
        result = index_outside(index, size);
        return;
      }
    }
  };
  return for_index(indices.type(), check) ? result : wrong_type(frame, i);
}

Error index_outside(std::int64_t index, std::int64_t size) {
  return wrong(fmt::format("index {} is outside an axis of size {}", index, size),
               fmt::format("indices go from {} to {}", -size, size - 1));
}

}  // namespace anybit::ops
