// Arithmetic on the elements of small tensors, for shapes that a model computes.
#pragma once

#include "ops/op.hpp"

namespace anybit::ops {

using Combine = Dim (*)(const Dim& a, const Dim& b);

// Elementwise; either side may have a single element. Nothing if the elements are unknown or the shapes need
// more broadcasting than that.
std::optional<std::vector<Dim>> combine(const Value& a, const Value& b, Combine combine);

// A view of row-major elements: the element at (i, j, …) of the result is at `first` + i·steps[0] +
// j·steps[1] + … of the input. Every offset must lie inside.
std::vector<Dim> view_of(std::span<const Dim> elements, std::span<const std::int64_t> sizes,
                         std::int64_t first, std::span<const std::int64_t> steps);
// Row-major strides, in elements.
std::vector<std::int64_t> row_major(std::span<const std::int64_t> sizes);

}  // namespace anybit::ops
