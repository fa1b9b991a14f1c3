// CenterCropPad: crops to the centre, or pads with zeros around it. ONNX: CenterCropPad-18.
#include <algorithm>

#include "ops/move/data_movement.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape) return infer_same(call);
  const auto& target = call.in(1).elements;
  // The number of sizes may be known where the sizes are not.
  const auto& list = call.in(1).shape;
  const std::optional<std::int64_t> count = list && list->size() == 1 ? (*list)[0].size : std::nullopt;
  const auto given = call.integers("axes");
  Shape result = given ? *shape : unknown_shape(shape->size());
  if (given) {
    const auto axes = TRY(axes_of(*given, shape->size()));
    if (count && *count != std::ssize(axes))
      return wrong(fmt::format("{} sizes are given for {} axes", *count, axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      result[axes[i]] = target && i < target->size() ? (*target)[i] : Dim();
  } else {
    if (count && *count != std::ssize(*shape))
      return wrong(fmt::format("{} sizes are given for rank {}", *count, shape->size()));
    if (target && target->size() == shape->size()) result = *target;
  }
  return outputs_of(call, tensor(call.in(0).type, std::move(result)));
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const Dims target = TRY(dims_from(frame.in(1), "shape"));
  Dims axes;
  for (std::size_t i = 0; i < input.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (const auto given = frame.ints("axes")) axes = TRY(axes_within(*given, input.rank()));
  if (target.size() != axes.size())
    return wrong(fmt::format("{} sizes are given for {} axes", target.size(), axes.size()));
  Dims dims = input.dims(), sizes = input.dims();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (target[i] < 0) return wrong(fmt::format("the shape is {}", to_string(target)), "no negative sizes");
    dims[static_cast<std::size_t>(axes[i])] = target[i];
  }
  Array* out = TRY(frame.out(0, input.type(), dims));
  View from{0, strides_of(input.dims())}, to{0, strides_of(dims)};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    sizes[i] = std::min(dims[i], input.dim(i));
    from.first += (input.dim(i) - sizes[i]) / 2 * from.strides[i];
    to.first += (dims[i] - sizes[i]) / 2 * to.strides[i];
  }
  if (!(sizes == dims))
    for_copied(input.type(), [&]<class T>(T) { std::ranges::fill(out->elements<T>(), T()); });
  copy_view(frame, sizes, input, from, *out, to);
  return {};
}

}  // namespace

std::span<const Descriptor> center_crop_pad_descriptors() {
  static const Descriptor all[] = {{.name = "CenterCropPad",
                                    .domain = "",
                                    .since = {18},
                                    .infer = infer,
                                    .run = run,
                                    .required = 2,
                                    .traits = moves()}};
  return all;
}

}  // namespace anybit::ops
