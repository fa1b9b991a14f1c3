// Shape and Size: where the sizes of a tensor become values. ONNX: Shape-1 … -15 (start, end) … -25; Size-1 …
// -25.
#include <algorithm>

#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_shape(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape) return outputs_of(call, tensor(ElementType::int64, unknown_shape(1)));
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto clamp = [&](std::int64_t bound) {
    return std::clamp<std::int64_t>(bound < 0 ? std::max(bound, -rank) + rank : bound, 0, rank);
  };
  const std::int64_t start = clamp(call.integer("start", 0));
  const std::int64_t end = std::max(clamp(call.integer("end", rank)), start);
  return outputs_of(call, int64_vector(Shape(shape->begin() + start, shape->begin() + end)));
}

Result<Values> infer_size(const Call& call) {
  Value value = tensor(ElementType::int64, Shape());
  if (call.in(0).shape) value.elements = std::vector<Dim>{product(*call.in(0).shape)};
  return outputs_of(call, std::move(value));
}

}  // namespace

std::span<const Descriptor> shape_of_descriptors() {
  static const Descriptor all[] = {
      {.name = "Shape", .domain = "", .since = {1, 13, 15, 19, 21, 23, 24, 25}, .infer = infer_shape},
      {.name = "Size", .domain = "", .since = {1, 13, 19, 21, 23, 24, 25}, .infer = infer_size},
  };
  return all;
}

}  // namespace anybit::ops
