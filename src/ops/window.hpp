// Sliding windows over spatial axes: what Conv, the pools and their kin have in common.
#pragma once

#include "ops/op.hpp"

namespace anybit::ops {

struct Window {
  std::vector<Dim> kernel, stride, dilation, before, after;  // one for each spatial axis
  enum class Padding { given, same_upper, same_lower, valid } padding = Padding::given;
  bool round_up = false;  // ceil_mode
};

// Reads strides, dilations, pads and auto_pad; `kernel` comes from kernel_shape or the weight's shape.
Result<Window> window_of(const Call& call, std::vector<Dim> kernel);
// The kernel from kernel_shape, or from dimension 2 on of `weight`; unknown sizes if neither tells.
Result<std::vector<Dim>> kernel_of(const Call& call, const std::optional<Shape>& weight, std::size_t spatial);
// The spatial size after the window has passed over `input` (its spatial part).
Result<Shape> slide(const Window& window, std::span<const Dim> input);

}  // namespace anybit::ops
