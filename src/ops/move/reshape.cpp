// Reshape and Flatten: the same elements in another shape. ONNX: Reshape-1 (attribute), -5 … -25; Flatten-1 …
// -25.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// 0 copies the input's dimension, -1 is inferred from the rest.
Result<Shape> target_shape(const Call& call, const std::vector<Dim>& target) {
  const auto& input = call.in(0).shape;
  const bool copy_zero = call.integer("allowzero", 0) == 0;
  Shape shape;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target.size(); ++i) {
    Dim dim = target[i];
    if (dim.is(0) && copy_zero) {
      if (input && i >= input->size())
        return wrong(fmt::format("the 0 at index {} has no dimension to copy", i));
      dim = input ? (*input)[i] : Dim();
    } else if (dim.is(-1)) {
      if (open) return wrong("the target shape holds more than one -1", "only one dimension can be inferred");
      open = i;
      dim = 1;
    } else if (dim.known() && *dim.size < 0) {
      return wrong(fmt::format("the target shape holds {}", *dim.size), "a size, 0 to copy, or one -1");
    }
    shape.push_back(std::move(dim));
  }
  if (!input) {
    if (open) shape[*open] = Dim();
    return shape;
  }
  const Dim have = product(*input);
  const Dim taken = product(shape);
  if (open) {
    if (have.known() && taken.known() && *taken.size > 0 && *have.size % *taken.size != 0) {
      return wrong(fmt::format("{} elements cannot be reshaped to [{}]", *have.size, to_string(target)));
    }
    shape[*open] = floor_div(have, taken);
    // Equal symbolic sizes cancel: with N on both sides, the rest can still be divided.
    if (!shape[*open].known()) {
      Shape rest_in = *input, rest_out = shape;
      rest_out.erase(rest_out.begin() + static_cast<std::ptrdiff_t>(*open));
      for (std::size_t i = 0; i < rest_out.size();) {
        const auto twin = std::find_if(rest_in.begin(), rest_in.end(),
                                       [&](const Dim& d) { return !d.known() && same(d, rest_out[i]); });
        if (twin == rest_in.end()) {
          ++i;
        } else {
          rest_in.erase(twin);
          rest_out.erase(rest_out.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      shape[*open] = floor_div(product(rest_in), product(rest_out));
    }
  } else if (have.known() && taken.known() && !same(have, taken)) {
    return wrong(fmt::format("{} elements do not fit into [{}]", *have.size, to_string(shape)));
  }
  return shape;
}

Result<Values> infer_reshape(const Call& call) {
  const auto target = call.list(1, "shape");
  Value value = tensor(call.in(0).type, std::nullopt);
  if (target) {
    value.shape = TRY(target_shape(call, *target));
    value.elements = call.in(0).elements;
  } else if (call.in(1).has_rank(1) && (*call.in(1).shape)[0].known() && *(*call.in(1).shape)[0].size <= 32) {
    value.shape = unknown_shape(static_cast<std::size_t>(*(*call.in(1).shape)[0].size));
  }
  return outputs_of(call, std::move(value));
}

Result<Values> infer_flatten(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape) return outputs_of(call, tensor(call.in(0).type, unknown_shape(2)));
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = call.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return wrong(fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
  if (axis < 0) axis += rank;
  const auto all = std::span<const Dim>(*shape);
  const auto split = static_cast<std::size_t>(axis);
  return outputs_of(call,
                    tensor(call.in(0).type, Shape{product(all.first(split)), product(all.subspan(split))}));
}

Result<void> run_reshape(Frame& frame) {
  const auto target = TRY(dims_of(frame, 1, "shape"));
  if (!target) return wrong("no target shape is given");
  const Dims& input = frame.in(0).dims();
  const bool copy_zero = !frame.flag("allowzero");
  Dims dims = *target;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && copy_zero) {
      if (i >= input.size()) return wrong(fmt::format("the 0 at index {} has no dimension to copy", i));
      dims[i] = input[i];
    }
    if (dims[i] == -1 && !open) {
      open = i;
    } else if (dims[i] < 0) {
      return wrong(fmt::format("the target shape is {}", to_string(*target)), "sizes, 0 to copy, or one -1");
    } else {
      known = checked_mul(known, dims[i]).value_or(-1);
      if (known < 0) return wrong(fmt::format("the target shape {} is too large", to_string(*target)));
    }
  }
  const std::int64_t count = frame.in(0).count();
  if (open) dims[*open] = known == 0 ? 0 : count / known;
  if ((open ? dims[*open] * known : known) != count) {
    return wrong(fmt::format("{} elements do not fit into {}", count, to_string(*target)));
  }
  return frame.share(0, 0, dims);
}

Result<void> run_flatten(Frame& frame) {
  const Dims& dims = frame.in(0).dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t axis = frame.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return wrong(fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return frame.share(0, 0, {dims.product(0, split), dims.product(split, dims.size())});
}

}  // namespace

std::span<const Descriptor> reshape_descriptors() {
  static const Descriptor all[] = {
      {.name = "Reshape",
       .domain = "",
       .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
       .infer = infer_reshape,
       .run = run_reshape,
       .traits = moves({.since = 5}),
       .gradient = gradient_reshaped},
      {.name = "Flatten",
       .domain = "",
       .since = {1, 9, 11, 13, 21, 23, 24, 25},
       .infer = infer_flatten,
       .run = run_flatten,
       .traits = moves({.since = 9}),
       .gradient = gradient_reshaped},
  };
  return all;
}

}  // namespace anybit::ops
