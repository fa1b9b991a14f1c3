// Split: parts along one axis, equal or of given sizes. ONNX: Split-1, -2, -11 (attribute), -13 (input), -18.
#include <algorithm>

#include "ops/check.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/raise.hpp"
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
  if (count == 0) return values;
  // Equal parts are rounded up; the last ones are smaller.
  const Dim part = ceil_div(whole, static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const Dim left = whole - part * Dim(static_cast<std::int64_t>(i));
    Dim equal = i + 1 == count ? left : part;
    if (left.known() && part.known())
      equal = std::clamp<std::int64_t>(*left.size, 0, std::max<std::int64_t>(*part.size, 0));
    (*values[i].shape)[axis] = sizes ? (*sizes)[i] : given ? Dim() : equal;
  }
  return values;
}

// The part sizes if given; there may be more of them than a tensor has axes.
Result<std::optional<std::span<const std::int64_t>>> sizes_of(const Frame& frame) {
  if (!frame.has(1)) return frame.ints("split");
  const Array& sizes = frame.in(1);
  if (!frame.datum(1).is_array() || sizes.type() != ElementType::int64) return wrong_type(frame, 1);
  return std::optional(sizes.elements<std::int64_t>());
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 0), input.rank()));
  const auto sizes = TRY(sizes_of(frame));
  const auto count = static_cast<std::int64_t>(frame.output_count());
  if (count == 0) return wrong("it has no outputs", "one for each part");
  if (sizes && static_cast<std::int64_t>(sizes->size()) != count)
    return wrong(fmt::format("{} sizes are given for {} outputs", sizes->size(), count));
  const std::int64_t whole = input.dim(axis);
  if (sizes && frame.has(1) && !has_elements(frame.in(1))) return {};
  const std::int64_t part = whole / count + (whole % count != 0 ? 1 : 0);
  const Dims strides = strides_of(input.dims());
  Dims dims = input.dims();
  const auto size_of = [&](std::int64_t i, std::int64_t before) {
    return sizes ? (*sizes)[static_cast<std::size_t>(i)] : std::min(part, whole - before);
  };
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t size = size_of(i, at);
    if (size < 0 || size > whole - at) {
      return wrong(
          fmt::format("part {} of size {} does not fit: {} of {} are left", i, size, whole - at, whole));
    }
    at += size;
  }
  if (at != whole) return wrong(fmt::format("the parts have {} elements of {} on axis {}", at, whole, axis));
  at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t size = size_of(i, at);
    dims[axis] = size;
    if (frame.wants(static_cast<std::size_t>(i))) {
      Array* out = TRY(frame.out(static_cast<std::size_t>(i), input.type(), dims));
      copy_view(frame, input, {at * strides[axis], strides}, *out);
    }
    at += size;
  }
  return {};
}

Result<void> raise_to_13(Raising& raising) {
  TRY(raising.integers_to_input("split", 1));
  return {};
}

Result<void> raise_to_18(Raising& raising) {
  const std::vector<std::string>& inputs = raising.edited.inputs;
  if (inputs.size() < 2 || inputs[1].empty())
    raising.set("num_outputs", static_cast<std::int64_t>(raising.edited.outputs.size()));
  return {};
}

Result<void> gradient(Gradient& g) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < g.node.outputs.size(); ++i) {
    if (g.output(i).empty()) return wrong(fmt::format("output {} is left out", i), "a name for each output");
    const std::string dy = g.dy(i);
    parts.push_back(dy.empty() ? g.zeros_like(g.output(i)) : dy);
  }
  g.set(0, g.add("Concat", std::move(parts), {graph::attribute("axis", g.integer("axis", 0))}));
  return {};
}

}  // namespace

std::span<const Descriptor> split_descriptors() {
  static const Descriptor all[] = {{.name = "Split",
                                    .domain = "",
                                    .since = {1, 2, 11, 13, 18},
                                    .infer = infer,
                                    .run = run,
                                    .raise = {{13, raise_to_13}, {18, raise_to_18}},
                                    .traits = moves({.since = 2}),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
