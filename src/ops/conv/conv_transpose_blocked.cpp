#include "ops/conv/conv_transpose_blocked.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/reproducible.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

using kernels::channel_blocks;
using kernels::ConvSizes;

constexpr std::int64_t kMostClasses = 64;

std::int64_t taps_of(const kernels::ConvAxes& axes) {
  return std::ssize(axes[0].kernel_index) * std::ssize(axes[1].kernel_index) *
         std::ssize(axes[2].kernel_index);
}

// The window as far as weights and attributes tell it: kernel, stride, dilation. Nothing if they are wrong.
std::optional<kernels::Window> known_window(const Attributes& node, const Dims& w) {
  kernels::Window window;
  const std::size_t axes = w.size() - 2;
  const auto strides = node.ints("strides"), dilations = node.ints("dilations");
  if ((strides && strides->size() != axes) || (dilations && dilations->size() != axes)) return std::nullopt;
  for (std::size_t i = 0; i < axes; ++i) {
    kernels::WindowAxis& axis = window[3 - axes + i];
    axis.kernel = w[i + 2];
    axis.stride = strides ? (*strides)[i] : 1;
    axis.dilation = dilations ? (*dilations)[i] : 1;
    if (axis.stride < 1 || axis.dilation < 1 || axis.stride > kMostClasses) return std::nullopt;
  }
  if (window[0].stride * window[1].stride * window[2].stride > kMostClasses) return std::nullopt;
  return window;
}

}  // namespace

Result<std::unique_ptr<BlockedTranspose>> BlockedTranspose::make(const Attributes& node, Memory& memory,
                                                                 const Array& w) {
  std::unique_ptr<BlockedTranspose> made;
  const std::int64_t groups = node.integer("group", 1);
  if (reproducible() || w.type() != ElementType::float32 || w.rank() < 3 || w.rank() > 5 || w.count() == 0 ||
      groups < 1 || w.dim(0) % groups != 0)
    return made;
  const std::int64_t inputs = w.dim(0) / groups, outputs = w.dim(1);
  if (groups > 1 && (inputs % 8 != 0 || outputs % 8 != 0)) return made;
  const auto window = known_window(node, w.dims());
  if (!window || !std::ranges::all_of(w.elements<float>(), [](float one) { return std::isfinite(one); }))
    return made;
  made.reset(new BlockedTranspose());
  const std::int64_t taps = kernel_size(*window);
  const kernels::WeightView view{w.data<float>(), inputs * outputs * taps, taps, outputs * taps};
  for (const kernels::ConvAxes& axes : kernels::transposed_classes(*window)) {
    const auto bytes = checked_mul<std::int64_t>(
        kernels::conv_panels_size(groups, outputs, inputs, taps_of(axes)), sizeof(float));
    if (!bytes) return wrong("the weights are too large");
    Block block = TRY(memory.take(*bytes));
    kernels::conv_panels(view, axes, *window, groups, outputs, inputs,
                         reinterpret_cast<float*>(block.data()));
    made->classes_.push_back(std::move(block));
  }
  return made;
}

Result<void> BlockedTranspose::run(Frame& frame, const ConvSizes& sizes, const Dims& dims,
                                   const Array* given_bias) const {
  auto phases = known_.find(sizes.window);
  if (!phases) phases = known_.keep(sizes.window, kernels::transposed_phases(sizes.window));
  const std::int64_t outputs = sizes.in_channels;
  const bool one_place = input_size(sizes.window) == 1;
  Array* out = TRY(frame.out(0, ElementType::float32, dims, one_place ? Layout::plain : Layout::blocked8));
  const bool copied = one_place && outputs % 8 != 0;
  Array y = copied ? TRY(scratch_array(frame, ElementType::float32, dims, Layout::blocked8)) : *out;
  const Array x = TRY(in_layout(frame, frame.in(0), Layout::blocked8));
  kernels::FloatConvWork work;
  work.batch = sizes.batch;
  work.groups = sizes.groups;
  work.in_blocks = channel_blocks(sizes.out_per_group());
  work.out_blocks = channel_blocks(sizes.in_per_group());
  work.x = x.data<float>();
  work.block_stride = output_size(sizes.window) * 8;
  work.image_stride = channel_blocks(sizes.out_channels) * work.block_stride;
  work.y = y.mutable_data<float>();
  if (given_bias) {
    const Array bias = TRY(in_layout(frame, *given_bias, Layout::plain));
    const std::int64_t each = sizes.in_per_group();
    const auto numbers = TRY(frame.scratch_of<float>(kernels::conv_bias_size(sizes.groups, each)));
    kernels::conv_bias(sizes.groups, each, bias.data<float>(), numbers.data());
    work.bias = numbers.data();
  }
  for (const kernels::TransposedPhase& phase : *phases) {
    work.axes = &phase.axes;
    const Block& weights = classes_[static_cast<std::size_t>(phase.tap_class)];
    work.weights = reinterpret_cast<const float*>(weights.data());
    kernels::conv_float(work, frame.pool());
  }
  if (copied) {
    convert_layout(y, *out);
  } else {
    clear_padding(*out);
  }
  return {};
}

}  // namespace anybit::ops
