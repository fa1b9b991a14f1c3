#include "ops/conv/conv_transpose_blocked.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/reproducible.hpp"
#include "ops/finish.hpp"
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

bool all_are(const Attributes& node, std::string_view name, std::int64_t number) {
  const auto given = node.ints(name);
  return !given || std::ranges::all_of(*given, [number](std::int64_t one) { return one == number; });
}

// Whether each output belongs to one window, and the channels would not fill a block.
bool joins_phases(const Attributes& node, const kernels::Window& window, std::int64_t groups,
                  std::int64_t outputs) {
  const std::string_view padding = node.text("auto_pad", "NOTSET");
  return groups == 1 && outputs < kernels::kChannelBlock && (padding == "NOTSET" || padding == "VALID") &&
         !node.ints("output_shape") && all_are(node, "pads", 0) && all_are(node, "output_padding", 0) &&
         all_are(node, "dilations", 1) && std::ranges::all_of(window, [](const kernels::WindowAxis& axis) {
           return axis.kernel == axis.stride;
         });
}

// Copies runs of `Run` floats, a block apart, to adjacent places.
template <int Run>
void gather_runs(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < Run; ++k) to[i * Run + k] = from[i * kernels::kChannelBlock + k];
  }
}

// One row of the result: its columns are `width` channels, from `channel` on, of a row of `y`.
void gather_row(const float* y, std::int64_t space, std::int64_t channel, std::int64_t width,
                std::int64_t count, float* to) {
  constexpr std::int64_t kBlock = kernels::kChannelBlock;
  const std::int64_t lane = channel % kBlock;
  const float* from = y + channel / kBlock * space * kBlock + lane;
  if (width == 2 && lane + 2 <= kBlock) return gather_runs<2>(from, count, to);
  if (width == 4 && lane + 4 <= kBlock) return gather_runs<4>(from, count, to);
  for (std::int64_t k = 0; k < width; ++k) {
    const std::int64_t c = channel + k;
    from = y + c / kBlock * space * kBlock + c % kBlock;
    for (std::int64_t i = 0; i < count; ++i) to[i * width + k] = from[i * kBlock];
  }
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
  made->joined_ = joins_phases(node, *window, groups, outputs);
  if (made->joined_) {
    const auto bytes =
        checked_mul<std::int64_t>(kernels::conv_panels_size(1, outputs * taps, inputs, 1), sizeof(float));
    if (!bytes) return wrong("the weights are too large");
    Block block = TRY(memory.take(*bytes));
    const kernels::WeightView view{w.data<float>(), 0, 1, outputs * taps};
    kernels::conv_panels(view, kernels::conv_axes({}), {}, 1, outputs * taps, inputs,
                         reinterpret_cast<float*>(block.data()));
    made->classes_.push_back(std::move(block));
    return made;
  }
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
  if (joined_) return run_joined(frame, sizes, dims, given_bias);
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

Result<void> BlockedTranspose::run_joined(Frame& frame, const ConvSizes& sizes, const Dims& dims,
                                          const Array* given_bias) const {
  const auto& [d, h, w] = sizes.window;
  const std::int64_t outputs = sizes.in_channels, taps = kernel_size(sizes.window);
  const std::int64_t channels = outputs * taps, blocks = channel_blocks(channels);
  const std::int64_t space = output_size(sizes.window);
  Array* out = TRY(frame.out(0, ElementType::float32, dims));
  const Array x = TRY(in_layout(frame, frame.in(0), Layout::blocked8));
  const auto y = TRY(frame.scratch_of<float>(sizes.batch * blocks * space * 8));
  kernels::Window places;
  for (std::size_t i = 0; i < places.size(); ++i) places[i].input = places[i].output = sizes.window[i].output;
  const kernels::ConvAxes axes = kernels::conv_axes(places);
  kernels::FloatConvWork work;
  work.batch = sizes.batch;
  work.axes = &axes;
  work.in_blocks = channel_blocks(sizes.out_channels);
  work.out_blocks = blocks;
  work.x = x.data<float>();
  work.block_stride = space * 8;
  work.image_stride = work.in_blocks * work.block_stride;
  work.weights = reinterpret_cast<const float*>(classes_.front().data());
  work.y = y.data();
  if (given_bias) {
    const Array bias = TRY(in_layout(frame, *given_bias, Layout::plain));
    std::vector<float> repeated;
    for (std::int64_t i = 0; i < channels; ++i) repeated.push_back(bias.data<float>()[i / taps]);
    const auto numbers = TRY(frame.scratch_of<float>(kernels::conv_bias_size(1, channels)));
    kernels::conv_bias(1, channels, repeated.data(), numbers.data());
    work.bias = numbers.data();
  }
  kernels::conv_float(work, frame.pool());

  const std::span<const FinishStep> steps = frame.take_finish();
  const std::int64_t lines = h.input, planes = d.input, width = w.input;
  const auto rows = [&](std::int64_t first, std::int64_t last) {
    float* const to = out->mutable_data<float>();
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t line = i % lines, plane = i / lines % planes, map = i / lines / planes;
      const std::int64_t tap = (plane % d.kernel * h.kernel + line % h.kernel) * w.kernel;
      const std::int64_t at = (plane / d.kernel * h.output + line / h.kernel) * w.output * 8;
      gather_row(y.data() + map / outputs * blocks * space * 8 + at, space, map % outputs * taps + tap,
                 w.kernel, w.output, to + i * width);
    }
    finish(steps, {to + first * width, static_cast<std::size_t>((last - first) * width)});
  };
  parallel(frame, dims[0] * outputs * planes * lines, static_cast<double>(width), rows);
  return {};
}

}  // namespace anybit::ops
