// Split: parts along one axis, equal or of given sizes. ONNX: Split-1, -2, -11 (attribute), -13 (input), -18.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const Value& input = call.in(0);
  const std::size_t count = call.output_count();
  Values values(count, tensor(input.type, input.shape));
  if (!input.shape) return values;
  const std::size_t axis = TRY(axis_of(call.integer("axis", 0), input.shape->size()));
  const Dim& whole = (*input.shape)[axis];
  const bool given = call.has(1) || call.find("split");
  const auto sizes = call.list(1, "split");
  if (sizes && sizes->size() != count) {
    return wrong(fmt::format("{} sizes are given for {} outputs", sizes->size(), count));
  }
  // Equal parts are rounded up, the last one is smaller.
  const Dim part = ceil_div(whole, static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const Dim last = whole - part * Dim(static_cast<std::int64_t>(count) - 1);
    const Dim equal = i + 1 == count ? last : part;
    (*values[i].shape)[axis] = sizes ? (*sizes)[i] : given ? Dim() : equal;
  }
  return values;
}

}  // namespace

std::span<const Descriptor> split_descriptors() {
  static const Descriptor all[] = {
      {.name = "Split", .domain = "", .since = {1, 2, 11, 13, 18}, .infer = infer}};
  return all;
}

}  // namespace anybit::ops
