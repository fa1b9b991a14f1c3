#include "ops/conv/window.hpp"

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

// Number of window positions. With ceil_mode the last one must still start inside the input or its left
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

// Larger values are rejected: they are not meaningful, and products of them could overflow.
constexpr std::int64_t kLargestStep = INT32_MAX;
constexpr std::int64_t kLargestInput = std::int64_t{1} << 40;

Result<std::int64_t> number_of(std::string_view name, std::int64_t value, std::int64_t least) {
  if (value < least || value > kLargestStep) {
    return wrong(fmt::format("{} holds {}", name, value), fmt::format("{} to {}", least, kLargestStep));
  }
  return value;
}

// One number per axis; 1 (or 0 for pads) if the attribute is absent.
Result<void> read(const Attributes& node, std::string_view name, std::size_t count, std::int64_t least,
                  std::span<std::int64_t> numbers) {
  std::ranges::fill(numbers, least);
  const auto given = node.ints(name);
  if (!given) return {};
  if (given->size() != count) {
    return wrong(fmt::format("{} has {} numbers", name, given->size()), fmt::format("{}", count));
  }
  for (std::size_t i = 0; i < count; ++i) numbers[i] = TRY(number_of(name, (*given)[i], least));
  return {};
}

bool same_size(std::string_view padding) { return padding == "SAME_UPPER" || padding == "SAME_LOWER"; }

// SAME padding: output = ceil(input / stride); an odd element of padding goes to the side in the name.
void pad_to_same(std::string_view padding, std::int64_t extent, kernels::WindowAxis& axis) {
  axis.output = kernels::ceil_quotient(axis.input, axis.stride);
  const std::int64_t all = std::max<std::int64_t>(0, (axis.output - 1) * axis.stride + extent - axis.input);
  axis.before = padding == "SAME_UPPER" ? all / 2 : all - all / 2;
  axis.after = all - axis.before;
}

Result<void> count_positions(std::int64_t extent, bool round_up, kernels::WindowAxis& axis) {
  const std::int64_t room = axis.input + axis.before + axis.after - extent;
  // With ceil_mode a window may extend beyond the padding if it starts before its end.
  if (room < 0 && !(round_up && room > -axis.stride)) {
    return wrong(
        fmt::format("the window spans {} elements, but the padded input has {}", extent, room + extent));
  }
  axis.output =
      room < 0 ? 1 : (round_up ? kernels::ceil_quotient(room, axis.stride) : room / axis.stride) + 1;
  if (round_up && (axis.output - 1) * axis.stride >= axis.input + axis.before) --axis.output;
  return {};
}

}  // namespace

Result<std::string_view> padding_of(const Attributes& node) {
  const std::string_view padding = node.text("auto_pad", "NOTSET");
  if (padding.empty()) return "NOTSET";
  if (padding != "NOTSET" && padding != "VALID" && !same_size(padding))
    return wrong(fmt::format("auto_pad is '{}'", shown(padding)), "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  return padding;
}

Result<kernels::Window> window_over(const Attributes& node, std::span<const std::int64_t> kernel,
                                    std::span<const std::int64_t> input) {
  const std::size_t count = input.size();
  if (count < 1 || count > kSpatialAxes || kernel.size() != count) {
    return wrong(fmt::format("the input has {} spatial axes, the kernel {}", count, kernel.size()),
                 fmt::format("the same number, 1 to {}", kSpatialAxes));
  }
  std::array<std::int64_t, kSpatialAxes> stride, dilation;
  std::array<std::int64_t, 2 * kSpatialAxes> pads;
  TRY(read(node, "strides", count, 1, stride));
  TRY(read(node, "dilations", count, 1, dilation));
  const std::string_view padding = TRY(padding_of(node));
  const bool given = padding == "NOTSET";
  pads.fill(0);
  if (given) TRY(read(node, "pads", 2 * count, 0, pads));
  kernels::Window window;
  for (std::size_t i = 0; i < count; ++i) {
    kernels::WindowAxis& axis = window[kSpatialAxes - count + i];
    if (input[i] > kLargestInput)
      return wrong(fmt::format("a spatial axis has size {}", input[i]),
                   fmt::format("at most {}", kLargestInput));
    axis.input = input[i];
    axis.kernel = TRY(number_of("the kernel", kernel[i], 1));
    axis.stride = stride[i];
    axis.dilation = dilation[i];
    axis.before = pads[i];
    axis.after = pads[count + i];
    const std::int64_t extent = axis.dilation * (axis.kernel - 1) + 1;
    if (same_size(padding)) {
      pad_to_same(padding, extent, axis);
    } else {
      TRY(count_positions(extent, node.flag("ceil_mode"), axis));
    }
  }
  return window;
}

Result<std::span<const std::int64_t>> pool_kernel(const Attributes& node, std::size_t axes) {
  const auto kernel = node.ints("kernel_shape");
  if (!kernel || kernel->size() != axes) {
    return wrong(fmt::format("kernel_shape has {} numbers", kernel ? kernel->size() : 0),
                 fmt::format("{}: one for each spatial axis", axes));
  }
  return *kernel;
}

Dims output_dims(std::int64_t batch, std::int64_t channels, const kernels::Window& window, std::size_t rank) {
  Dims dims{batch, channels};
  for (std::size_t i = kSpatialAxes - (rank - 2); i < kSpatialAxes; ++i) dims.push_back(window[i].output);
  return dims;
}

Result<Window> window_of(const Call& call, std::vector<Dim> kernel) {
  Window window;
  const std::size_t count = kernel.size();
  window.kernel = std::move(kernel);
  window.stride = TRY(filled(call, "strides", count));
  window.dilation = TRY(filled(call, "dilations", count));
  window.round_up = call.integer("ceil_mode", 0) != 0;
  window.before = window.after = std::vector<Dim>(count, Dim(0));
  const std::string_view padding = TRY(padding_of(call));
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

Result<std::optional<Shape>> pooled_shape(const Call& call, const std::optional<Shape>& x) {
  if (!x) return std::optional<Shape>();
  if (x->size() < 3) return wrong("the input needs batch, channels and space");
  const auto kernel = TRY(kernel_of(call, std::nullopt, x->size() - 2));
  Shape shape = TRY(slide(TRY(window_of(call, kernel)), std::span(*x).subspan(2)));
  shape.insert(shape.begin(), {(*x)[0], (*x)[1]});
  return std::optional(std::move(shape));
}

Result<std::optional<Shape>> global_shape(const std::optional<Shape>& x) {
  if (!x) return std::optional<Shape>();
  if (x->size() < 2) return wrong("the input needs batch and channels");
  Shape shape(x->size(), Dim(1));
  shape[0] = (*x)[0];
  shape[1] = (*x)[1];
  return std::optional(std::move(shape));
}

}  // namespace anybit::ops
