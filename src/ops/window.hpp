// Sliding windows over spatial axes: what Conv, the pools and their kin have in common.
#pragma once

#include "kernels/window.hpp"
#include "ops/dims.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

struct Window {
  std::vector<Dim> kernel, stride, dilation, before, after;  // one for each spatial axis
  enum class Padding { given, same_upper, same_lower, valid } padding = Padding::given;
  bool round_up = false;  // ceil_mode
};

// auto_pad: one of ONNX's words, NOTSET if there is none.
Result<std::string_view> padding_of(const Attributes& node);
// Reads strides, dilations, pads and auto_pad; `kernel` comes from kernel_shape or the weight's shape.
Result<Window> window_of(const Call& call, std::vector<Dim> kernel);
// The kernel from kernel_shape, or from dimension 2 on of `weight`; unknown sizes if neither tells.
Result<std::vector<Dim>> kernel_of(const Call& call, const std::optional<Shape>& weight, std::size_t spatial);
// The spatial size after the window has passed over `input` (its spatial part).
Result<Shape> slide(const Window& window, std::span<const Dim> input);
// Batch and channels stay, the window passes over space; unknown if the input is.
Result<std::optional<Shape>> pooled_shape(const Call& call, const std::optional<Shape>& x);
// Batch and channels stay, space becomes 1.
Result<std::optional<Shape>> global_shape(const std::optional<Shape>& x);

// The same in numbers, while a model runs. `kernel` and `input` are spatial; axes beyond three are an error.
Result<kernels::Window> window_over(const Attributes& node, std::span<const std::int64_t> kernel,
                                    std::span<const std::int64_t> input);
// The kernel of a pool: kernel_shape, which must be there.
Result<std::span<const std::int64_t>> pool_kernel(const Attributes& node, std::size_t axes);
// [batch, channels, output sizes…] of a window over an input of `rank` dims.
Dims output_dims(std::int64_t batch, std::int64_t channels, const kernels::Window& window, std::size_t rank);

}  // namespace anybit::ops
