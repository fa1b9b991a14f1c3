// Transpose, DepthToSpace and SpaceToDepth: elements change places. ONNX: Transpose-1 … -25; the others -1 …
// -13.
#include "ops/elements.hpp"
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

Result<Values> infer_blocks(const Call& call, bool to_space) {
  const Value& input = call.in(0);
  if (!input.shape) return outputs_of(call, tensor(input.type, unknown_shape(4)));
  if (input.shape->size() != 4) return wrong("the input must have batch, channels, height and width");
  const Shape& in = *input.shape;
  const Dim block = call.integer("blocksize", 0);
  const Dim area = block * block;
  Shape shape = to_space ? Shape{in[0], floor_div(in[1], area), in[2] * block, in[3] * block}
                         : Shape{in[0], in[1] * area, floor_div(in[2], block), floor_div(in[3], block)};
  return outputs_of(call, tensor(input.type, std::move(shape)));
}
Result<Values> infer_depth_to_space(const Call& call) { return infer_blocks(call, true); }
Result<Values> infer_space_to_depth(const Call& call) { return infer_blocks(call, false); }

}  // namespace

std::span<const Descriptor> transpose_descriptors() {
  static const Descriptor all[] = {
      {.name = "Transpose", .domain = "", .since = {1, 13, 21, 23, 24, 25}, .infer = infer_transpose},
      {.name = "DepthToSpace", .domain = "", .since = {1, 11, 13}, .infer = infer_depth_to_space},
      {.name = "SpaceToDepth", .domain = "", .since = {1, 13}, .infer = infer_space_to_depth},
  };
  return all;
}

}  // namespace anybit::ops
