// Sliding windows over spatial axes: shared by convolutions and pools.
#pragma once

#include "kernels/conv/window.hpp"
#include "ops/dims.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

// Spatial axes that a window can have.
inline constexpr std::size_t kSpatialAxes = 3;

struct Window {
  std::vector<Dim> kernel, stride, dilation, before, after;  // one per spatial axis
  enum class Padding { given, same_upper, same_lower, valid } padding = Padding::given;
  bool round_up = false;  // ceil_mode
};

// The value of auto_pad; NOTSET if it is absent.
Result<std::string_view> padding_of(const Attributes& node);
// Reads strides, dilations, pads and auto_pad; `kernel` comes from kernel_shape or the weight's shape.
Result<Window> window_of(const Call& call, std::vector<Dim> kernel);
// The kernel size from kernel_shape, or from the dimensions of `weight` after the first two; unknown if
// neither is given.
Result<std::vector<Dim>> kernel_of(const Call& call, const std::optional<Shape>& weight, std::size_t spatial);
// The spatial output size of `window` over `input` (spatial dimensions only).
Result<Shape> slide(const Window& window, std::span<const Dim> input);
// Output shape of a pool: batch and channels are kept; unknown if the input is.
Result<std::optional<Shape>> pooled_shape(const Call& call, const std::optional<Shape>& x);
// Output shape of a global pool: batch and channels are kept, spatial sizes become 1.
Result<std::optional<Shape>> global_shape(const std::optional<Shape>& x);

// The window with concrete sizes, at run time. `kernel` and `input` are spatial; more than three axes are an
// error.
Result<kernels::Window> window_over(const Attributes& node, std::span<const std::int64_t> kernel,
                                    std::span<const std::int64_t> input);
// The kernel size of a pool: kernel_shape, which is required.
Result<std::span<const std::int64_t>> pool_kernel(const Attributes& node, std::size_t axes);
// [batch, channels, output sizes…] of a window over an input of `rank` dims.
Dims output_dims(std::int64_t batch, std::int64_t channels, const kernels::Window& window, std::size_t rank);

}  // namespace anybit::ops
