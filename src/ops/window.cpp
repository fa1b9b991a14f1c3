#include "ops/window.hpp"

namespace anybit::ops {
namespace {

Result<std::vector<Dim>> filled(const Call& call, std::string_view name, std::size_t count) {
  const auto given = call.integers(name);
  if (!given) return std::vector<Dim>(count, Dim(1));
  if (given->size() != count) {
    return wrong(fmt::format("{} has {} numbers; the input has {} spatial axes", name, given->size(), count));
  }
  for (const std::int64_t number : *given) {
    if (number <= 0) return wrong(fmt::format("{} holds {}; every number must be positive", name, number));
  }
  return std::vector<Dim>(given->begin(), given->end());
}

// How many window positions fit. With ceil_mode the last one must still begin inside the input or its left
// padding.
Dim positions(const Window& window, std::size_t i, const Dim& input) {
  const Dim extent = window.dilation[i] * (window.kernel[i] - 1) + 1;
  const Dim room = input + window.before[i] + window.after[i] - extent;
  if (!window.round_up) return floor_div(room, window.stride[i]) + 1;
  const Dim count = ceil_div(room, window.stride[i]) + 1;
  const Dim last_start = (count - 1) * window.stride[i];
  const Dim inside = input + window.before[i];
  const bool beyond = last_start.known() && inside.known() && *last_start.size >= *inside.size;
  return beyond ? count - 1 : count;
}

}  // namespace

Result<Window> window_of(const Call& call, std::vector<Dim> kernel) {
  Window window;
  const std::size_t count = kernel.size();
  window.kernel = std::move(kernel);
  window.stride = TRY(filled(call, "strides", count));
  window.dilation = TRY(filled(call, "dilations", count));
  window.round_up = call.integer("ceil_mode", 0) != 0;
  window.before = window.after = std::vector<Dim>(count, Dim(0));
  const std::string_view padding = call.text("auto_pad", "NOTSET");
  if (padding == "SAME_UPPER") window.padding = Window::Padding::same_upper;
  if (padding == "SAME_LOWER") window.padding = Window::Padding::same_lower;
  if (padding == "VALID") window.padding = Window::Padding::valid;
  const auto pads = call.integers("pads");
  if (window.padding != Window::Padding::given || !pads) return window;
  if (pads->size() != 2 * count) {
    return wrong(fmt::format("pads has {} numbers; {} spatial axes need {}", pads->size(), count, 2 * count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    window.before[i] = (*pads)[i];
    window.after[i] = (*pads)[count + i];
  }
  return window;
}

Result<std::vector<Dim>> kernel_of(const Call& call, const std::optional<Shape>& weight,
                                   std::size_t spatial) {
  if (const auto given = call.integers("kernel_shape")) {
    if (given->size() != spatial) {
      return wrong(
          fmt::format("kernel_shape has {} numbers; the input has {} spatial axes", given->size(), spatial));
    }
    return std::vector<Dim>(given->begin(), given->end());
  }
  if (!weight) return std::vector<Dim>(spatial);
  if (weight->size() != spatial + 2) {
    return wrong(fmt::format("the weight has rank {}, the input {}", weight->size(), spatial + 2));
  }
  return std::vector<Dim>(weight->begin() + 2, weight->end());
}

Result<Shape> slide(const Window& window, std::span<const Dim> input) {
  Shape shape;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const bool same_size =
        window.padding == Window::Padding::same_upper || window.padding == Window::Padding::same_lower;
    Dim size = same_size ? ceil_div(input[i], window.stride[i]) : positions(window, i, input[i]);
    if (size.known() && *size.size < 0) {
      return wrong(fmt::format("the window is larger than the padded input ({} of size {})",
                               to_string(window.kernel), to_string(input)));
    }
    shape.push_back(std::move(size));
  }
  return shape;
}

}  // namespace anybit::ops
