#include "ops/vision/resize_plan.hpp"

#include <algorithm>
#include <cmath>

#include "ops/check.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Numbers of any float type, from an input or an attribute; nullopt if absent or empty.
Result<std::optional<std::array<double, 2 * Dims::kCapacity>>> factors(const Frame& frame, std::size_t i,
                                                                       std::string_view attribute,
                                                                       std::size_t count) {
  using Numbers = std::array<double, 2 * Dims::kCapacity>;
  Numbers numbers{};
  const auto list = attribute.empty() ? std::nullopt : frame.floats(attribute);
  if (!list && (!frame.has(i) || frame.in(i).count() == 0)) return std::optional<Numbers>();
  const std::size_t given = list ? list->size() : static_cast<std::size_t>(frame.in(i).count());
  if (given != count)
    return wrong(fmt::format("input {} has {} numbers", i, given), fmt::format("{}", count));
  if (list) {
    std::ranges::copy(*list, numbers.begin());
  } else if (!has_elements(frame.in(i))) {
    if (for_real(frame.in(i).type(), [](auto) {})) return not_known();
    return wrong_type(frame, i);
  } else if (!for_real(frame.in(i).type(), [&]<class T>(T) {
               const auto elements = frame.in(i).elements<T>();
               for (std::size_t k = 0; k < count; ++k)
                 numbers[k] = static_cast<double>(static_cast<Computed<T>>(elements[k]));
             })) {
    return wrong_type(frame, i);
  }
  return std::optional(numbers);
}

Result<void> scale_by(ResizePlan& plan, const Dims& axes, std::span<const double> scales) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan.axes[static_cast<std::size_t>(axes[i])];
    const Dim size = scaled(Dim(axis.in), scales[i]);
    if (!(scales[i] > 0) || !size.known()) return wrong(fmt::format("a scale is {}", scales[i]), "above 0");
    axis.scale = scales[i];
    axis.out = *size.size;
  }
  return {};
}

Result<void> scale_to(const Frame& frame, ResizePlan& plan, const Dims& axes, const Dims& sizes) {
  if (sizes.size() != axes.size())
    return wrong(fmt::format("{} sizes are given for {} axes", sizes.size(), axes.size()));
  const std::string_view policy = frame.text("keep_aspect_ratio_policy", "stretch");
  const bool larger = policy == "not_smaller";
  if (!larger && policy != "stretch" && policy != "not_larger")
    return wrong(fmt::format("keep_aspect_ratio_policy is '{}'", policy),
                 "stretch, not_larger or not_smaller");
  std::optional<double> common;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan.axes[static_cast<std::size_t>(axes[i])];
    if (sizes[i] < 0 || (axis.in == 0 && sizes[i] > 0))
      return wrong(fmt::format("an axis of size {1} cannot be resized to {0}", sizes[i], axis.in));
    axis.out = sizes[i];
    if (axis.in == 0) continue;
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    common = !common ? axis.scale : larger ? std::max(*common, axis.scale) : std::min(*common, axis.scale);
  }
  if (policy == "stretch" || !common) return {};
  for (const std::int64_t at : axes) {
    ResizeAxis& axis = plan.axes[static_cast<std::size_t>(at)];
    const Dim size = scaled(Dim(1), std::floor(static_cast<double>(axis.in) * *common + 0.5));
    if (!size.known()) return wrong("the output is too large");
    axis.scale = *common;
    axis.out = *size.size;
  }
  return {};
}

// Converts the axes to storage order. In blocked layouts the channels must not be resized.
Result<void> store_axes(Frame& frame, const Dims& input, ResizePlan& plan) {
  const std::size_t rank = plan.dims.size();
  plan.layout = frame.in(0).layout();
  if (plan.layout != Layout::plain && (rank >= Dims::kCapacity || !plan.axes[1].still(plan.rule))) {
    TRY(frame.make_plain(0));
    plan.layout = Layout::plain;
  }
  plan.from = stored_dims(input, plan.layout);
  plan.to = stored_dims(plan.dims, plan.layout);
  const auto axes = plan.axes;
  for (std::size_t i = 0; i < plan.from.size(); ++i) plan.axes[i] = {plan.from[i], plan.to[i]};
  for (std::size_t i = 0; i < rank; ++i) {
    if (plan.layout == Layout::plain || i != 1) plan.axes[stored_axis(i, rank, plan.layout)] = axes[i];
  }
  return {};
}

// `parameters`: the input before roi, scales and sizes.
Result<ResizePlan> plan_of(Frame& frame, const Dims& input, std::size_t parameters, bool old) {
  ResizePlan plan;
  plan.rule = TRY(resize_rule(frame, old));
  Dims axes;
  for (std::size_t i = 0; i < input.size(); ++i) {
    plan.axes[i] = {input[i], input[i]};
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (const auto given = frame.ints("axes"); given && !old) axes = TRY(axes_within(*given, input.size()));
  const bool listed = old && frame.node.op_type.str() == "Upsample" && frame.version < 9;
  const auto scales = TRY(factors(frame, parameters + (old ? 1 : 2), listed ? "scales" : "", axes.size()));
  if (scales) {
    TRY(scale_by(plan, axes, *scales));
  } else if (!old && frame.has(parameters + 3)) {
    TRY(scale_to(frame, plan, axes, TRY(dims_from(frame.in(parameters + 3), "sizes"))));
  } else {
    return wrong("neither scales nor sizes are given");
  }
  if (plan.rule.coordinates == ResizeRule::Coordinates::tf_crop_and_resize) {
    const auto roi = TRY(factors(frame, parameters + 1, "", 2 * axes.size()));
    if (!roi) return wrong("roi is not given", "a start and an end for each axis");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      plan.axes[static_cast<std::size_t>(axes[i])].start = (*roi)[i];
      plan.axes[static_cast<std::size_t>(axes[i])].end = (*roi)[axes.size() + i];
    }
  }
  for (std::size_t i = 0; i < input.size(); ++i) plan.dims.push_back(plan.axes[i].out);
  return plan;
}

}  // namespace

bool ResizePlan::still() const {
  return std::all_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(from.size()),
                     [&](const ResizeAxis& axis) { return axis.still(rule); });
}

Result<ResizePlan> resize_plan(Frame& frame) {
  const bool old = frame.node.op_type.str() == "Upsample" || frame.version < 11;
  const Dims& input = frame.in(0).dims();
  ResizePlan plan = TRY(plan_of(frame, input, 0, old));
  TRY(store_axes(frame, input, plan));
  return plan;
}

Result<ResizePlan> resize_plan_of_gradient(Frame& frame, const Dims& input) {
  ResizePlan plan = TRY(plan_of(frame, input, 1, false));
  if (!(frame.in(0).dims() == plan.dims)) {
    return wrong(fmt::format("the gradient is {}", to_string(frame.in(0))),
                 fmt::format("the output's shape: {}", to_string(plan.dims)));
  }
  TRY(store_axes(frame, input, plan));
  return plan;
}

}  // namespace anybit::ops
