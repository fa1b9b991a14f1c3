#include "ops/conv/conv_transpose_sizes.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/window.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kLargest = INT32_MAX;  // of any number in an attribute

// One value of a list attribute, without those of batch and channels.
Result<std::int64_t> number(const Frame& frame, std::string_view name, std::size_t i, std::size_t count,
                            std::int64_t least, std::int64_t otherwise) {
  const auto given = frame.ints(name);
  if (!given) return otherwise;
  if (given->size() < count || (given->size() > count && name != "output_shape"))
    return wrong(fmt::format("{} has {} numbers", name, given->size()), fmt::format("{}", count));
  const std::int64_t value = (*given)[given->size() - count + i];
  if (value < least || value > kLargest)
    return wrong(fmt::format("{} holds {}", name, value), fmt::format("{} to {}", least, kLargest));
  return value;
}

// The window of the forward convolution: its input is our output.
Result<kernels::Window> backward_window(const Frame& frame, const Dims& x, const Dims& w) {
  const std::size_t count = x.size() - 2;
  kernels::Window window;
  const std::string_view padding = TRY(padding_of(frame));
  const bool same = padding == "SAME_UPPER" || padding == "SAME_LOWER";
  for (std::size_t i = 0; i < count; ++i) {
    kernels::WindowAxis& axis = window[kSpatialAxes - count + i];
    axis.output = x[i + 2];
    axis.kernel = w[i + 2];
    if (axis.output > kLargest || axis.kernel > kLargest || axis.kernel < 1)
      return wrong(fmt::format("the input is {}, the weight {}", to_string(x), to_string(w)));
    axis.stride = TRY(number(frame, "strides", i, count, 1, 1));
    axis.dilation = TRY(number(frame, "dilations", i, count, 1, 1));
    const std::int64_t added = TRY(number(frame, "output_padding", i, count, 0, 0));
    const std::int64_t whole =
        axis.stride * (axis.output - 1) + added + axis.dilation * (axis.kernel - 1) + 1;
    const bool padded = padding == "NOTSET";
    const std::int64_t before = padded ? TRY(number(frame, "pads", i, 2 * count, 0, 0)) : 0;
    const std::int64_t after = padded ? TRY(number(frame, "pads", count + i, 2 * count, 0, 0)) : 0;
    if (same || frame.ints("output_shape")) {
      axis.input = TRY(number(frame, "output_shape", i, count, 0, axis.output * axis.stride));
      const std::int64_t surplus = std::max<std::int64_t>(0, whole - axis.input);
      axis.before = padding == "SAME_UPPER" ? surplus / 2 : surplus - surplus / 2;
      axis.after = surplus - axis.before;
      continue;
    }
    axis.before = before;
    axis.after = after;
    axis.input = whole - before - after;
    if (axis.input < 0) return wrong("the padding is larger than the output");
  }
  return window;
}

}  // namespace

Result<kernels::ConvSizes> backward_sizes(const Frame& frame, const Dims& x, const Dims& w) {
  if (x.size() < 3 || x.size() > 2 + kSpatialAxes || w.size() != x.size()) {
    return wrong(fmt::format("the input is {}, the weight {}", to_string(x), to_string(w)),
                 "the same rank, 3 to 5");
  }
  kernels::ConvSizes sizes;
  sizes.batch = x[0];
  sizes.out_channels = x[1];
  sizes.groups = frame.integer("group", 1);
  const auto channels = checked_mul(w[1], sizes.groups);
  if (sizes.groups < 1 || !channels || *channels < 1 || w[0] != x[1] || x[1] % sizes.groups != 0) {
    return wrong(
        fmt::format("the input is {}, the weight {}, in {} groups", to_string(x), to_string(w), sizes.groups),
        "the weight's first size is the input's channels; groups divide it");
  }
  sizes.in_channels = *channels;
  const auto kernel = frame.ints("kernel_shape");
  if (kernel && !std::ranges::equal(*kernel, w.span().subspan(2)))
    return wrong(fmt::format("kernel_shape is [{}], the weight {}", fmt::join(*kernel, ", "), to_string(w)));
  sizes.window = TRY(backward_window(frame, x, w));
  return sizes;
}

Result<Dims> spread_dims(const kernels::ConvSizes& sizes, std::size_t rank) {
  Dims dims{sizes.batch, sizes.in_channels};
  for (std::size_t i = kSpatialAxes + 2 - rank; i < kSpatialAxes; ++i) dims.push_back(sizes.window[i].input);
  if (!element_count(dims.span())) return wrong(fmt::format("the output would be {}", to_string(dims)));
  return dims;
}

bool reaches_once(const kernels::Window& window) {
  return std::ranges::all_of(window, [](const kernels::WindowAxis& axis) {
    return axis.stride == axis.kernel && axis.dilation == 1 && axis.before == 0 &&
           axis.input == axis.output * axis.kernel;
  });
}

}  // namespace anybit::ops
