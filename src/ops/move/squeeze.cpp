// Squeeze and Unsqueeze: remove and insert axes of size 1. In version 13 the axes became an input.
#include <algorithm>

#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Values with_shape(const Call& call, std::optional<Shape> shape) {
  Value value = tensor(call.in(0).type, std::move(shape));
  if (value.shape) value.elements = call.in(0).elements;
  return outputs_of(call, std::move(value));
}

bool contains(const std::vector<std::size_t>& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Result<Values> infer_squeeze(const Call& call) {
  const auto& shape = call.in(0).shape;
  const bool given = call.has(1) || call.find("axes");
  const auto list = call.list(1, "axes");
  const auto axes = list ? numbers(*list) : std::nullopt;
  if (!shape || (given && !axes)) return with_shape(call, std::nullopt);
  Shape result;
  if (!given) {  // all axes of size 1 are removed: all sizes must be known
    for (const Dim& dim : *shape) {
      if (!dim.known()) return with_shape(call, std::nullopt);
      if (!dim.is(1)) result.push_back(dim);
    }
    return with_shape(call, std::move(result));
  }
  const auto gone = TRY(axes_of(*axes, shape->size()));
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Dim& dim = (*shape)[i];
    if (!contains(gone, i)) {
      result.push_back(dim);
    } else if (dim.known() && !dim.is(1)) {
      return wrong(fmt::format("axis {} has size {}; only axes of size 1 can be squeezed", i, *dim.size));
    }
  }
  return with_shape(call, std::move(result));
}

Result<Values> infer_unsqueeze(const Call& call) {
  const auto& shape = call.in(0).shape;
  const auto list = call.list(1, "axes");
  const auto axes = list ? numbers(*list) : std::nullopt;
  if (!shape || !axes) return with_shape(call, std::nullopt);
  const std::size_t rank = shape->size() + axes->size();
  const auto added = TRY(axes_of(*axes, rank));
  Shape result;
  auto next = shape->begin();
  for (std::size_t i = 0; i < rank; ++i) result.push_back(contains(added, i) ? Dim(1) : *next++);
  return with_shape(call, std::move(result));
}

bool contains(const Dims& axes, std::size_t axis) {
  return std::ranges::find(axes.span(), static_cast<std::int64_t>(axis)) != axes.span().end();
}

Result<void> run_squeeze(Frame& frame) {
  const Dims& input = frame.in(0).dims();
  const auto axes = TRY(dims_of(frame, 1, "axes"));
  const Dims gone = axes ? TRY(axes_within(axes->span(), input.size())) : Dims();
  Dims dims;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (axes ? !contains(gone, i) : input[i] != 1) {
      dims.push_back(input[i]);
    } else if (input[i] != 1) {
      return wrong(fmt::format("axis {} has size {}; only axes of size 1 can be squeezed", i, input[i]));
    }
  }
  return frame.share(0, 0, dims);
}

Result<void> run_unsqueeze(Frame& frame) {
  const Dims& input = frame.in(0).dims();
  const auto axes = TRY(dims_of(frame, 1, "axes"));
  if (!axes) return wrong("no axes are given");
  const std::size_t rank = input.size() + axes->size();
  if (rank > Dims::kCapacity)
    return wrong(fmt::format("the output has rank {}", rank), fmt::format("at most {}", Dims::kCapacity));
  const Dims added = TRY(axes_within(axes->span(), rank));
  Dims dims;
  const std::int64_t* next = input.begin();
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(contains(added, i) ? 1 : *next++);
  return frame.share(0, 0, dims);
}

}  // namespace

std::span<const Descriptor> squeeze_descriptors() {
  static const Descriptor all[] = {
      {.name = "Squeeze",
       .domain = "",
       .since = {1, 11, 13, 21, 23, 24, 25},
       .infer = infer_squeeze,
       .run = run_squeeze,
       .raise = {{13, raise_axes_to_input}},
       .traits = moves({.since = 1}),
       .gradient = gradient_reshaped},
      {.name = "Unsqueeze",
       .domain = "",
       .since = {1, 11, 13, 21, 23, 24, 25},
       .infer = infer_unsqueeze,
       .run = run_unsqueeze,
       .raise = {{13, raise_axes_to_input}},
       .traits = moves({.since = 1}),
       .gradient = gradient_reshaped},
  };
  return all;
}

}  // namespace anybit::ops
