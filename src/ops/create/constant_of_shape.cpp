// ConstantOfShape: a tensor filled with one value. ONNX: ConstantOfShape-9 … -25.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using enum ElementType;

// If only the length of the size vector is known, it still gives the rank.
std::optional<Shape> shape_from(const Value& sizes) {
  if (sizes.elements) return *sizes.elements;
  if (!sizes.has_rank(1) || !(*sizes.shape)[0].known()) return std::nullopt;
  const std::int64_t rank = *(*sizes.shape)[0].size;
  return rank <= 32 ? std::optional(unknown_shape(static_cast<std::size_t>(rank))) : std::nullopt;
}

Result<Values> infer_constant_of_shape(const Call& call) {
  const graph::Tensor* held = call.tensor("value");
  Value value = tensor(held ? held->type() : float32, shape_from(call.in(0)));
  const Dim count = value.shape ? product(*value.shape) : Dim();
  if (count.known() && *count.size >= 0 && *count.size <= kFollowed) {
    const auto filling = held ? value_of(*held).elements : std::vector<Dim>{0};
    if (filling && filling->size() == 1) {
      value.elements = std::vector<Dim>(static_cast<std::size_t>(*count.size), (*filling)[0]);
    }
  }
  return outputs_of(call, std::move(value));
}

Result<void> run(Frame& frame) {
  const Dims dims = TRY(dims_from(frame.in(0), "the shape"));
  if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; }))
    return wrong(fmt::format("the shape is {}", to_string(dims)), "no negative sizes");
  const graph::Tensor* held = frame.tensor("value");
  const ElementType type = held ? held->type() : float32;
  if (held && element_count(held->dims) != 1)
    return wrong(fmt::format("value has shape [{}]", fmt::join(held->dims, ", ")), "a single element");
  Array* out = TRY(frame.out(0, type, dims));
  if (!held) return std::fill_n(out->mutable_data<float>(), out->count(), 0.0f), Result<void>();
  const Array value = TRY(Array::from(*held, frame.memory()));
  for_copied(type, [&]<class T>(T) { std::fill_n(out->mutable_data<T>(), out->count(), *value.data<T>()); });
  return {};
}

}  // namespace

std::span<const Descriptor> constant_of_shape_descriptors() {
  static const Descriptor all[] = {{.name = "ConstantOfShape",
                                    .domain = "",
                                    .since = {9, 20, 21, 23, 24, 25},
                                    .infer = infer_constant_of_shape,
                                    .run = run}};
  return all;
}

}  // namespace anybit::ops
