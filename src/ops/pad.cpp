// Pad: more, or with negative numbers fewer, elements on each side. ONNX: Pad-1, -2 (attributes), -11 … -25
// (inputs).
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const std::size_t rank = input.shape->size();
  const auto pads = call.list(1, call.version < 2 ? "paddings" : "pads");
  if (!pads) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
  std::vector<std::size_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  if (call.has(3)) {
    const auto given = call.in(3).elements ? numbers(*call.in(3).elements) : std::nullopt;
    if (!given) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
    axes = TRY(axes_of(*given, rank));
  }
  if (pads->size() != 2 * axes.size()) {
    return wrong(fmt::format("{} pads are given for {} axes", pads->size(), axes.size()),
                 "two for each axis: all before, then all after");
  }
  Shape shape = *input.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = shape[axes[i]];
    dim = dim + (*pads)[i] + (*pads)[axes.size() + i];
    if (dim.known() && *dim.size < 0)
      return wrong(fmt::format("axis {} is cropped to {}", axes[i], *dim.size));
  }
  return outputs_of(call, tensor(input.type, std::move(shape)));
}

}  // namespace

std::span<const Descriptor> pad_descriptors() {
  static const Descriptor all[] = {
      {.name = "Pad", .domain = "", .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25}, .infer = infer}};
  return all;
}

}  // namespace anybit::ops
