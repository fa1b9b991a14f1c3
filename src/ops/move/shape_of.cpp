// Shape and Size: the sizes of a tensor as values. ONNX: Shape-1 … -15 (start, end) … -25; Size-1 … -25.
#include <algorithm>

#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The axes selected by `start` and `end`; negative ones count from the end, both are clamped.
std::pair<std::int64_t, std::int64_t> part_of(const Attributes& attributes, std::size_t axes) {
  const auto rank = static_cast<std::int64_t>(axes);
  const auto clamp = [&](std::int64_t bound) {
    return std::clamp<std::int64_t>(bound < 0 ? std::max(bound, -rank) + rank : bound, 0, rank);
  };
  const std::int64_t start = clamp(attributes.integer("start", 0));
  return {start, std::max(clamp(attributes.integer("end", rank)), start)};
}

Result<Values> infer_shape(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape) return outputs_of(call, tensor(ElementType::int64, unknown_shape(1)));
  const auto [start, end] = part_of(call, shape->size());
  return outputs_of(call, int64_vector(Shape(shape->begin() + start, shape->begin() + end)));
}

Result<Values> infer_size(const Call& call) {
  Value value = tensor(ElementType::int64, Shape());
  if (call.in(0).shape) value.elements = std::vector<Dim>{product(*call.in(0).shape)};
  return outputs_of(call, std::move(value));
}

Result<void> run_shape(Frame& frame) {
  const Dims& dims = frame.in(0).dims();
  const auto [start, end] = part_of(frame, dims.size());
  Array* out = TRY(frame.out(0, ElementType::int64, {end - start}));
  std::copy(dims.begin() + start, dims.begin() + end, out->mutable_data<std::int64_t>());
  return {};
}

Result<void> run_size(Frame& frame) {
  Array* out = TRY(frame.out(0, ElementType::int64, {}));
  *out->mutable_data<std::int64_t>() = frame.in(0).count();
  return {};
}

}  // namespace

std::span<const Descriptor> shape_of_descriptors() {
  static const Descriptor all[] = {
      {.name = "Shape",
       .domain = "",
       .since = {1, 13, 15, 19, 21, 23, 24, 25},
       .infer = infer_shape,
       .run = run_shape,
       .layouts = Layouts::each,
       .gradient = no_gradient},
      {.name = "Size",
       .domain = "",
       .since = {1, 13, 19, 21, 23, 24, 25},
       .infer = infer_size,
       .run = run_size,
       .layouts = Layouts::each,
       .gradient = no_gradient},
  };
  return all;
}

}  // namespace anybit::ops
