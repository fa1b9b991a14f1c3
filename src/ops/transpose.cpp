// Transpose, DepthToSpace and SpaceToDepth: elements change places. ONNX: Transpose-1 … -25; the others -1 …
// -13.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_transpose(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  Shape shape(input.shape->rbegin(), input.shape->rend());
  if (const auto order = call.integers("perm")) {
    if (order->size() != shape.size()) {
      return wrong(fmt::format("perm has {} numbers, the input rank {}", order->size(), shape.size()));
    }
    const auto axes = TRY(axes_of(*order, shape.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) shape[i] = (*input.shape)[axes[i]];
  }
  Value value = tensor(input.type, std::move(shape));
  if (value.shape->size() < 2) value.elements = input.elements;
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
