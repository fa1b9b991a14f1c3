#include "ops/conv/conv_blocked.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/reproducible.hpp"
#include "kernels/conv/conv_few.hpp"
#include "kernels/conv/conv_winograd.hpp"
#include "kernels/conv/depthwise_float.hpp"
#include "kernels/reduce/reduce.hpp"
#include "ops/check.hpp"
#include "ops/conv/window.hpp"
#include "ops/finish.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

using kernels::channel_blocks;
using kernels::ConvSizes;
using kernels::FloatConvWork;

Result<Block> take(Memory& memory, std::int64_t floats) {
  const auto bytes = checked_mul<std::int64_t>(floats, sizeof(float));
  if (!bytes) return wrong("the weights are too large");
  return memory.take(*bytes);
}

float* floats_of(const Block& block) { return reinterpret_cast<float*>(block.data()); }

// How many groups are computed as one, with zeros between them, so that their channels fill blocks of 8.
std::int64_t merged_groups(const ConvSizes& sizes) {
  for (std::int64_t many = 1; many < sizes.groups; many *= 2) {
    if (sizes.groups % many == 0 && sizes.in_per_group() * many % 8 == 0 &&
        sizes.out_per_group() * many % 8 == 0)
      return many;
  }
  return sizes.groups;
}

bool is_finite(const Array& x) {
  const auto numbers = x.elements<float>();
  return std::isfinite(kernels::row_sum(kernels::Summand::magnitude, numbers.data(), numbers.size()));
}

// [outputs][inputs of the merged group][taps], from [outputs][inputs of the group][taps].
std::vector<float> merged_weights(const ConvSizes& sizes, std::int64_t many, const float* weights) {
  const std::int64_t each = sizes.depth();
  std::vector<float> all(static_cast<std::size_t>(sizes.out_channels * each * many));
  for (std::int64_t o = 0; o < sizes.out_channels; ++o) {
    const std::int64_t place = o / sizes.out_per_group() % many;
    std::copy_n(weights + o * each, each, all.begin() + (o * many + place) * each);
  }
  return all;
}

// Each channel `times` times in a row: for several outputs of each channel.
Result<Array> repeated(Frame& frame, const Array& x, std::int64_t times) {
  Dims dims = x.dims();
  dims[1] *= times;
  Array copy = TRY(scratch_array(frame, ElementType::float32, dims, Layout::blocked8));
  const std::int64_t space = dims.product(2, dims.size()), blocks = channel_blocks(dims[1]);
  const std::int64_t in_blocks = channel_blocks(x.dim(1));
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t n = i / blocks, c = i % blocks * 8;
      for (std::int64_t lane = 0; lane < 8; ++lane) {
        float* to = copy.mutable_data<float>() + i * space * 8 + lane;
        const std::int64_t from = (c + lane) / times;
        const bool real = c + lane < dims[1];
        const float* at = x.data<float>() + (n * in_blocks + from / 8) * space * 8 + from % 8;
        for (std::int64_t s = 0; s < space; ++s) to[s * 8] = real ? at[s * 8] : 0;
      }
    }
  };
  parallel(frame, dims[0] * blocks, static_cast<double>(space * 8),
           [&body](std::int64_t a, std::int64_t b) { body(a, b); });
  return copy;
}

}  // namespace

std::optional<BlockedConv::Kind> BlockedConv::kind_of(const ConvSizes& sizes) {
  if (kernels::has_few_channels(sizes)) return Kind::few;
  if (sizes.groups == 1) return Kind::blocked;
  if (sizes.in_per_group() == 1) return Kind::depthwise;
  // Beyond that, the zeros cost more than separate products.
  constexpr std::int64_t kMostMerged = 16;
  if (merged_groups(sizes) <= kMostMerged) return Kind::blocked;
  return std::nullopt;
}

Result<std::unique_ptr<BlockedConv>> BlockedConv::make(const Attributes& node, Memory& memory, const Array& w,
                                                       const Array* bias, bool has_bias, bool has_sum,
                                                       const kernels::Activation& activation) {
  std::unique_ptr<BlockedConv> conv;
  const auto known = weight_sizes(node, w.dims());
  if (!known || reproducible()) return conv;
  ConvSizes sizes = *known;
  if (bias && (bias->type() != ElementType::float32 || bias->count() != sizes.out_channels)) return conv;
  const auto dilations = node.ints("dilations");
  if (dilations && !dilations->empty()) sizes.window[2].dilation = dilations->back();
  const auto kind = kind_of(sizes);
  // Padding is multiplied by zero, which infinity and NaN would show.
  if (!kind || !std::ranges::all_of(w.elements<float>(), [](float one) { return std::isfinite(one); }))
    return conv;
  conv.reset(new BlockedConv());
  conv->kind_ = *kind;
  std::vector<float> merged;
  if (*kind == Kind::blocked && (conv->merged_ = merged_groups(sizes)) > 1) {
    merged = merged_weights(sizes, conv->merged_, w.data<float>());
    sizes.groups /= conv->merged_;
  }
  conv->has_bias_ = has_bias;
  conv->has_sum_ = has_sum;
  conv->wants_plain_ = node.flag(kPlainResult);
  conv->activation_ = activation;
  TRY(conv->order(memory, sizes, merged.empty() ? w.data<float>() : merged.data()));
  if (bias) {
    conv->bias_ = TRY(take(memory, conv->bias_size(sizes)));
    conv->place_bias(sizes, *bias, floats_of(conv->bias_));
  }
  return conv;
}

Result<void> BlockedConv::order(Memory& memory, const ConvSizes& sizes, const float* weights) {
  const std::int64_t taps = kernel_size(sizes.window), inputs = sizes.in_per_group();
  if (kind_ == Kind::depthwise) {
    weights_ = TRY(take(memory, channel_blocks(sizes.out_channels) * 8 * taps));
    kernels::depthwise_panels(sizes.out_channels, taps, weights, floats_of(weights_));
  } else if (kind_ == Kind::few) {
    weights_ = TRY(take(memory, kernels::few_panels_size(sizes)));
    kernels::few_panels(sizes, weights, floats_of(weights_));
  } else {
    const std::int64_t outputs = sizes.out_per_group();
    weights_ = TRY(take(memory, kernels::conv_panels_size(sizes.groups, outputs, inputs, taps)));
    const kernels::WeightView view{weights, outputs * inputs * taps, inputs * taps, taps};
    kernels::conv_panels(view, kernels::conv_axes(sizes.window), sizes.window, sizes.groups, outputs, inputs,
                         floats_of(weights_));
  }
  return {};
}

std::int64_t BlockedConv::bias_size(const ConvSizes& sizes) const {
  if (kind_ == Kind::depthwise) return kernels::conv_bias_size(1, sizes.out_channels);
  return kernels::conv_bias_size(sizes.groups, sizes.out_per_group());
}

void BlockedConv::place_bias(const ConvSizes& sizes, const Array& bias, float* to) const {
  if (kind_ == Kind::depthwise) return kernels::conv_bias(1, sizes.out_channels, bias.data<float>(), to);
  kernels::conv_bias(sizes.groups, sizes.out_per_group(), bias.data<float>(), to);
}

Result<const float*> BlockedConv::bias_of(Frame& frame, const ConvSizes& sizes) const {
  if (!has_bias_ || bias_) return static_cast<const float*>(floats_of(bias_));
  const Array bias = TRY(in_layout(frame, frame.in(2), Layout::plain));
  const auto numbers = TRY(frame.scratch_of<float>(bias_size(sizes)));
  place_bias(sizes, bias, numbers.data());
  return static_cast<const float*>(numbers.data());
}

bool BlockedConv::takes_winograd(const ConvSizes& sizes) const {
  return kind_ == Kind::blocked && merged_ == 1 && kernels::FloatWinogradWeights::fit(sizes) &&
         kernels::float_winograd_pays(sizes);
}

bool BlockedConv::writes_plain(const ConvSizes& sizes) const {
  // Of few channels, the maps are written in bursts, which takes longer than a conversion of the result.
  constexpr std::int64_t kFewest = 64;
  const bool many = kind_ == Kind::depthwise || sizes.out_channels >= kFewest;
  return many && !has_sum_ && !takes_winograd(sizes);
}

const float* BlockedConv::winograd(Frame& frame, const ConvSizes& sizes, const Array& w) const {
  if (!takes_winograd(sizes)) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!winograd_) {
    auto block =
        frame.memory().take(kernels::FloatWinogradWeights::bytes(sizes.out_channels, sizes.in_channels));
    if (!block) return nullptr;
    kernels::FloatWinogradWeights::transform(sizes.out_channels, sizes.in_channels, w.data<float>(),
                                             floats_of(*block));
    winograd_ = std::move(*block);
  }
  return floats_of(winograd_);
}

std::shared_ptr<const kernels::ConvAxes> BlockedConv::axes(const kernels::Window& window) const {
  if (auto known = known_.find(window)) return known;
  return known_.keep(window, kind_ == Kind::few ? kernels::few_axes(window) : kernels::conv_axes(window));
}

Result<void> BlockedConv::run_direct(Frame& frame, const ConvSizes& sizes, const Array& w,
                                     FloatConvWork& work) const {
  const Array x = TRY(in_layout(frame, frame.in(0), Layout::blocked8));
  work.x = x.data<float>();
  work.groups = sizes.groups;
  work.in_blocks = channel_blocks(sizes.in_per_group());
  work.out_blocks = channel_blocks(sizes.out_per_group());
  work.block_stride = input_size(sizes.window) * 8;
  work.image_stride = channel_blocks(sizes.in_channels) * work.block_stride;
  if (const float* transformed = winograd(frame, sizes, w)) {
    kernels::conv_winograd_float({work, transformed}, frame.pool());
  } else {
    kernels::conv_float(work, frame.pool());
  }
  return {};
}

Result<void> BlockedConv::run_few(Frame& frame, const ConvSizes& sizes, FloatConvWork& work) const {
  const Array& x = frame.in(0);
  const std::int64_t space = input_size(sizes.window), channels = sizes.in_channels;
  work.image_stride = kernels::few_size(sizes);
  const auto copy = TRY(frame.scratch_of<float>(sizes.batch * work.image_stride));
  kernels::FewSource from{x.data<float>(), channels * space, space, 1};
  if (x.layout() == Layout::channels_last) from.channel = 1, from.place = channels;
  if (x.layout() == Layout::blocked8) from = {x.data<float>(), 8 * space, 1, 8};
  const std::span<const FinishStep> steps = frame.take_start();
  const auto start_steps = [steps](std::span<float> values) { finish(steps, values); };
  const kernels::ConvFinish start(start_steps);
  kernels::few_copy(sizes, from, steps.empty() ? nullptr : &start, copy.data(), frame.pool());
  work.x = copy.data();
  work.pixel = channels;
  work.run = channels * sizes.window[2].kernel;
  work.out_blocks = channel_blocks(sizes.out_channels);
  kernels::conv_float(work, frame.pool());
  return {};
}

Result<void> BlockedConv::run_depthwise(Frame& frame, const ConvSizes& sizes,
                                        const FloatConvWork& work) const {
  const bool plain = frame.in(0).layout() == Layout::plain && sizes.out_per_group() == 1;
  Array x = plain ? frame.in(0) : TRY(in_layout(frame, frame.in(0), Layout::blocked8));
  if (sizes.out_per_group() > 1) x = TRY(repeated(frame, x, sizes.out_per_group()));
  kernels::depthwise_float({.sizes = sizes,
                            .x = x.data<float>(),
                            .plain_x = plain ? x.data<float>() : nullptr,
                            .weights = work.weights,
                            .bias = work.bias,
                            .y = work.y,
                            .addend = work.addend,
                            .plain_y = work.plain,
                            .activation = work.activation,
                            .finish = work.finish},
                           frame.pool());
  return {};
}

Result<bool> BlockedConv::run(Frame& frame, const ConvSizes& given_sizes, const Array& w) const {
  ConvSizes sizes = given_sizes;
  sizes.groups /= merged_;
  const Array& given = frame.in(0);
  if (merged_ > 1 && !only_checks(frame) && !is_finite(given)) return false;
  const bool even = sizes.out_channels % 8 == 0;
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, given.rank());
  // With one position per image, both layouts are identical but for the padding; every operator accepts
  // plain.
  const bool one_place = output_size(sizes.window) == 1;
  const bool to_plain = wants_plain_ && !one_place && writes_plain(sizes);
  const Layout layout = one_place || to_plain ? Layout::plain : Layout::blocked8;
  const Array* sum = has_sum_ ? &frame.in(3) : nullptr;
  Array* out = nullptr;
  if (sum && (even || !one_place) && sum->layout() == layout && sum->bytes() != given.bytes()) {
    out = TRY(frame.out_over(0, 3, ElementType::float32, dims));
  } else {
    out = TRY(frame.out(0, ElementType::float32, dims, layout));
  }
  const bool copied = one_place && !even;
  Array y = copied ? TRY(scratch_array(frame, ElementType::float32, dims, Layout::blocked8)) : *out;
  const Array addend = sum ? TRY(in_layout(frame, *sum, Layout::blocked8)) : Array();
  const auto axes = this->axes(sizes.window);
  FloatConvWork work;
  work.batch = sizes.batch;
  work.axes = axes.get();
  work.weights = floats_of(weights_);
  work.bias = TRY(bias_of(frame, sizes));
  work.y = y.mutable_data<float>();
  work.plain = to_plain ? work.y : nullptr;
  work.out_channels = sizes.out_per_group();
  work.addend = sum ? addend.data<float>() : nullptr;
  const std::span<const FinishStep> steps = frame.take_finish();
  const auto finish_steps = [steps](std::span<float> results) { finish(steps, results); };
  const kernels::ConvFinish each(finish_steps);
  const kernels::ConvRange range(activation_, steps.empty() ? nullptr : &each);
  constexpr std::int64_t kInCache = 1 << 12;  // floats: then one call at the end is cheaper than many
  const bool at_end = range.more && y.stored() <= kInCache;
  if (!at_end || range.clamps()) work.activation = activation_;
  if (!at_end && !steps.empty()) work.finish = &each;
  if (kind_ == Kind::few) {
    TRY(run_few(frame, sizes, work));
  } else if (kind_ == Kind::depthwise) {
    TRY(run_depthwise(frame, sizes, work));
  } else {
    TRY(run_direct(frame, sizes, w, work));
  }
  if (at_end) range.apply(y.elements<float>());
  if (copied) {
    convert_layout(y, *out);
  } else {
    clear_padding(*out);
  }
  return true;
}

}  // namespace anybit::ops
