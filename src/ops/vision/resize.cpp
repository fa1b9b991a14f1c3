// Resize and Upsample: new sizes, given directly or by scales. ONNX: Upsample-1, -7 (attribute), -9, -10;
// Resize-10 … -19.
#include <algorithm>
#include <cmath>

#include "graph/node.hpp"
#include "ops/gradient.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"
#include "ops/vision/resize_plan.hpp"

namespace anybit::ops {
namespace {

// Whether the operator has only scales: no sizes input and no attribute axes (version 11).
bool is_old(const Call& call) { return call.node.op_type.str() == "Upsample" || call.version < 11; }

Result<std::vector<std::size_t>> axes_for(const Call& call, std::size_t rank) {
  const auto given = call.integers("axes");
  if (given && !is_old(call)) return axes_of(*given, rank);
  std::vector<std::size_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

Result<Shape> by_scales(const Shape& input, const std::vector<std::size_t>& axes,
                        const std::vector<double>& scales) {
  if (scales.size() != axes.size()) {
    return wrong(fmt::format("{} scales are given for {} axes", scales.size(), axes.size()));
  }
  Shape shape = input;
  // The scale is a float32; so is scale × size.
  for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = scaled(input[axes[i]], scales[i]);
  return shape;
}

// keep_aspect_ratio_policy: one scale for all axes, the smallest (not_larger) or largest (not_smaller) of the
// requested ratios.
Result<Shape> by_sizes(const Call& call, const Shape& input, const std::vector<std::size_t>& axes,
                       const std::vector<Dim>& sizes) {
  if (sizes.size() != axes.size()) {
    return wrong(fmt::format("{} sizes are given for {} axes", sizes.size(), axes.size()));
  }
  Shape shape = input;
  const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
  std::optional<double> scale;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& from = input[axes[i]];
    const bool usable = from.known() && *from.size > 0 && sizes[i].known();
    if (policy != "stretch" && !usable) {
      for (const std::size_t axis : axes) shape[axis] = Dim();
      return shape;
    }
    shape[axes[i]] = sizes[i];
    if (!usable) continue;
    const double ratio = static_cast<double>(*sizes[i].size) / static_cast<double>(*from.size);
    scale = !scale ? ratio : policy == "not_larger" ? std::min(*scale, ratio) : std::max(*scale, ratio);
  }
  if (policy != "stretch" && scale) {
    for (const std::size_t axis : axes) {
      const double size = std::round(static_cast<double>(*input[axis].size) * *scale);
      shape[axis] = scaled(Dim(1), size);
    }
  }
  return shape;
}

Result<Values> infer_resize(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const Value& factors = call.in(is_old(call) ? 1 : 2);
  const auto axes = TRY(axes_for(call, input.shape->size()));
  const auto scales = reals(factors);
  if (scales && !scales->empty()) {
    return outputs_of(call, tensor(input.type, TRY(by_scales(*input.shape, axes, *scales))));
  }
  // The sizes are used if there are no scales.
  const bool scaled = call.has(2) && !(factors.shape && product(*factors.shape).is(0));
  if (!is_old(call) && !scaled && call.has(3) && call.in(3).elements) {
    return outputs_of(call,
                      tensor(input.type, TRY(by_sizes(call, *input.shape, axes, *call.in(3).elements))));
  }
  Shape shape = *input.shape;
  for (const std::size_t axis : axes) shape[axis] = Dim();
  return outputs_of(call, tensor(input.type, std::move(shape)));
}

Result<Values> infer_upsample(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const std::size_t rank = input.shape->size();
  const auto scales = call.version < 9 ? call.reals("scales") : reals(call.in(1));
  if (!scales) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
  return outputs_of(call,
                    tensor(input.type, TRY(by_scales(*input.shape, TRY(axes_for(call, rank)), *scales))));
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const ResizePlan plan = TRY(resize_plan(frame));
  if (plan.still()) return frame.share(0, 0, plan.dims);
  const bool weighted = plan.rule.mode != ResizeRule::Mode::nearest;
  const bool crops = plan.rule.coordinates == ResizeRule::Coordinates::tf_crop_and_resize;
  if ((weighted || crops) && !for_number(input.type(), [](auto) {})) return wrong_type(frame, 0);
  if (input.count() == 0 && plan.dims.count() > 0)
    return wrong("an empty input cannot be resized to a non-empty output");
  Array* out = TRY(frame.out(0, input.type(), plan.dims, plan.layout));
  if (out->count() == 0) return {};
  if (!weighted) return resize_nearest(frame, plan, *out);
  return resize_weighted(frame, plan, *out);
}

// Version 11 has attributes for the only sampling rule of version 10. An axis that shrinks rounds up, one
// that grows rounds down; unknown scales are assumed to grow.
Result<void> raise_resize_to_11(Raising& raising) {
  std::vector<std::string>& inputs = raising.edited.inputs;
  if (inputs.size() < 2) return wrong("the scales are missing");
  std::vector<float> shrink, grow;
  for (const double scale : reals(raising.in(1)).value_or(std::vector<double>())) {
    shrink.push_back(static_cast<float>(std::min(scale, 1.0)));
    grow.push_back(static_cast<float>(std::max(scale, 1.0)));
  }
  const bool shrinks = std::ranges::any_of(shrink, [](float scale) { return scale < 1; });
  const bool grows = std::ranges::any_of(grow, [](float scale) { return scale > 1; });
  const std::string none = raising.constant(std::span<const float>());
  const bool nearest = graph::attribute_or<std::string>(raising.edited, "mode", "nearest") == "nearest";
  if (nearest && shrinks && grows) {
    const auto text = [](std::string_view name, std::string value) {
      return graph::attribute(name, std::move(value));
    };
    inputs[0] = raising.add_before("Resize", {inputs[0], none, raising.constant(shrink)},
                                   {text("mode", "nearest"), text("nearest_mode", "ceil"),
                                    text("coordinate_transformation_mode", "asymmetric")});
    inputs[1] = raising.constant(grow);
  }
  inputs.insert(inputs.begin() + 1, none);
  raising.set("coordinate_transformation_mode", std::string("asymmetric"));
  raising.set("nearest_mode", std::string(shrinks && !grows ? "ceil" : "floor"));
  return {};
}

Result<void> raise_upsample_to_9(Raising& raising) {
  TRY(raising.reals_to_input("scales", 1));
  return {};
}

Result<void> raise_upsample_to_10(Raising& raising) {
  raising.edited.op_type = "Resize";
  return {};
}

// Nearest passes values through and linear interpolates between them, so both keep the range of the input;
// cubic, and tf_crop_and_resize with its border value, may leave it.
Traits::Role role_of(const graph::Node& node) {
  const auto is = [&](std::string_view attribute, std::string_view value) {
    const graph::Attribute* given = node.attribute(attribute);
    const auto* name = given ? std::get_if<std::string>(&given->value) : nullptr;
    return name && *name == value;
  };
  const bool beyond = is("mode", "cubic") || is("coordinate_transformation_mode", "tf_crop_and_resize");
  return beyond ? Traits::Role::compute : Traits::Role::move;
}

bool between(const graph::Node& node) {
  return graph::attribute_or<std::string>(node, "mode", "nearest") != "nearest";
}

Result<void> gradient(Gradient& g) {
  if (g.wants(1) || g.wants(2))
    return wrong("there is no gradient with regard to the region and the scales", "constants");
  const auto given = [&](std::size_t i) { return g.has(i) ? g.input(i) : std::string(); };
  g.set(0, g.add("ResizeGradient", {g.dy(), g.shape(g.input(0)), given(1), given(2), given(3)},
                 g.node.attributes, kTraining));
  return {};
}

}  // namespace

std::span<const Descriptor> resize_descriptors() {
  static const Descriptor all[] = {
      {.name = "Resize",
       .domain = "",
       .since = {10, 11, 13, 18, 19},
       .infer = infer_resize,
       .run = run,
       .layouts = Layouts::each,
       .raise = {{11, raise_resize_to_11}},
       .traits = {.role = Traits::Role::move,
                  .pass_through = {.since = 10, .ours = true, .between = between},
                  .role_of = role_of},
       .gradient = gradient},
      {.name = "Upsample",
       .domain = "",
       .since = {1, 7, 9, 10},
       .infer = infer_upsample,
       .run = run,
       .layouts = Layouts::each,
       .raise = {{9, raise_upsample_to_9}, {10, raise_upsample_to_10}},
       .traits = {.role = Traits::Role::move, .role_of = role_of}},
  };
  return all;
}

}  // namespace anybit::ops
