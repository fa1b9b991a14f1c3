// Transpose: permutes axes. ONNX: Transpose-1 … -25.
#include "ops/elements.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

std::optional<std::vector<Dim>> transposed(const Value& input, const std::vector<std::size_t>& axes) {
  const auto sizes = numbers(*input.shape);
  if (!input.elements || !sizes) return std::nullopt;
  const auto steps = row_major(*sizes);
  std::vector<std::int64_t> new_sizes, new_steps;
  for (const std::size_t axis : axes) {
    new_sizes.push_back((*sizes)[axis]);
    new_steps.push_back(steps[axis]);
  }
  return view_of(*input.elements, new_sizes, 0, new_steps);
}

Result<Values> infer_transpose(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const std::size_t rank = input.shape->size();
  std::vector<std::size_t> axes;
  for (std::size_t i = rank; i > 0; --i) axes.push_back(i - 1);
  if (const auto order = call.integers("perm"); order && !order->empty()) {
    if (order->size() != rank) {
      return wrong(fmt::format("perm has {} numbers, the input rank {}", order->size(), rank));
    }
    axes = TRY(axes_of(*order, rank));
  }
  Value value = tensor(input.type, Shape());
  for (const std::size_t axis : axes) value.shape->push_back((*input.shape)[axis]);
  value.elements = transposed(input, axes);
  return outputs_of(call, std::move(value));
}

Result<void> run_transpose(Frame& frame) {
  const Array& input = frame.in(0);
  const std::size_t rank = input.rank();
  Dims order;
  for (std::size_t i = rank; i > 0; --i) order.push_back(static_cast<std::int64_t>(i) - 1);
  if (const auto perm = frame.ints("perm"); perm && !perm->empty()) {
    if (perm->size() != rank)
      return wrong(fmt::format("perm has {} numbers, the input rank {}", perm->size(), rank));
    order = TRY(axes_within(*perm, rank));
  }
  const Dims strides = strides_of(input.dims());
  Dims dims;
  View view;
  bool moves = false;  // whether the order of axes of size > 1 changes
  std::int64_t last = -1;
  for (const std::int64_t axis : order) {
    dims.push_back(input.dim(static_cast<std::size_t>(axis)));
    view.strides.push_back(strides[static_cast<std::size_t>(axis)]);
    if (dims.back() == 1) continue;
    moves = moves || axis < last;
    last = axis;
  }
  if (!moves) return frame.share(0, 0, dims);
  Array* out = TRY(frame.out(0, input.type(), dims));
  copy_view(frame, input, view, *out);
  return {};
}

// The inverse permutation.
Result<void> gradient(Gradient& g) {
  Gradient::NodeAttributes attributes;
  if (const auto permutation = g.integers("perm")) {
    std::vector<std::int64_t> inverse(permutation->size());
    for (std::size_t i = 0; i < permutation->size(); ++i)
      inverse[TRY(axis_of((*permutation)[i], permutation->size()))] = static_cast<std::int64_t>(i);
    attributes.push_back(graph::attribute("perm", std::move(inverse)));
  }
  g.set(0, g.add("Transpose", {g.dy()}, std::move(attributes)));
  return {};
}

}  // namespace

std::span<const Descriptor> transpose_descriptors() {
  static const Descriptor all[] = {
      {.name = "Transpose",
       .domain = "",
       .since = {1, 13, 21, 23, 24, 25},
       .infer = infer_transpose,
       .run = run_transpose,
       .traits = moves({.since = 1}),
       .gradient = gradient},
  };
  return all;
}

}  // namespace anybit::ops
