// Shape rules that many operators share.
#pragma once

#include "ops/op.hpp"

namespace anybit::ops {

// A non-negative axis; negative ones count from the end. An error if it is outside the rank.
Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
Result<std::vector<std::size_t>> axes_of(std::span<const std::int64_t> axes, std::size_t rank);

// Numpy's broadcasting: aligned at the last axis, size 1 is repeated. Unknown if an operand is unknown; an
// error if the shapes are incompatible.
Result<std::optional<Shape>> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b);

// One output with the first input's shape and type.
Result<Values> infer_same(const Call& call);
// Like infer_same for all outputs: each has the first input's shape and type.
Result<Values> infer_like_first(const Call& call);
// All outputs unknown.
Values unknown_outputs(const Call& call);
// The first output; the others are unknown.
Values outputs_of(const Call& call, Value first);

// A shape of `rank` unknown dimensions.
Shape unknown_shape(std::size_t rank);
// The shape of a batched matrix multiplication, with numpy's rules for vectors.
Result<std::optional<Shape>> matmul_shape(const std::optional<Shape>& a, const std::optional<Shape>& b);

// The element type for a value of TensorProto.DataType.
ElementType type_of(std::int64_t number);
bool is_float(ElementType type);

}  // namespace anybit::ops
