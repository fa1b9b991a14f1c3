// Direct float convolution in blocks of 8 channels ([channels / 8][space][8], Layout::blocked8), forward and
// transposed, over up to three axes. Every result is one sum in a fixed order: bias, then blocks of input
// channels, taps, channels. So it does not depend on the batch, the threads or the width of vectors.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "base/thread_pool.hpp"
#include "kernels/conv/activation.hpp"
#include "kernels/conv/conv_direct.hpp"

namespace anybit::kernels {

inline constexpr std::int64_t kChannelBlock = 8;
inline std::int64_t channel_blocks(std::int64_t channels) { return (channels + 7) / 8; }

// Output positions on one axis, and the taps of each: output first + j · step, for j < count, reads the
// inputs j · in_step + taps[…]; those outside the input are zero.
struct ConvAxis {
  std::int64_t input = 1, output = 1;
  std::int64_t count = 1, first = 0, step = 1, in_step = 1;
  std::vector<std::int64_t> taps = {0}, kernel_index = {0};  // kernel_index: of each tap in the weights
};
using ConvAxes = std::array<ConvAxis, 3>;

ConvAxes conv_axes(const Window& window);
// A transposed convolution is one convolution for each phase of its output modulo the strides. `window` is
// that of the forward convolution, whose input is this output. Which taps a phase has depends on a class,
// which the padding assigns to it: weights are ordered by class, for any padding.
struct TransposedPhase {
  ConvAxes axes;
  std::int64_t tap_class;  // index in transposed_classes
};
std::vector<TransposedPhase> transposed_phases(const Window& window);
// Axes of each class; only kernel_index is set. Depends on kernel, stride and dilation.
std::vector<ConvAxes> transposed_classes(const Window& window);

// Further steps on results while they are in the cache: rounding, another activation.
using ConvFinish = FunctionRef<std::span<float>>;

// What follows the sums. The kernels clamp in registers; for the rest they call apply() if there is `more`.
struct ConvRange {
  // `finish`: null: nothing.
  ConvRange(const Activation& activation, const ConvFinish* finish);
  void apply(std::span<float> results) const;
  bool clamps() const { return std::isfinite(low) || std::isfinite(high); }

  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  bool more = false;

 private:
  const Activation* activation_ = nullptr;  // null: none, or a clamp
  const ConvFinish* finish_;
};

struct FloatConvWork {
  std::int64_t batch = 1, groups = 1;
  const ConvAxes* axes = nullptr;
  // Inputs of a position are `run` adjacent floats, and positions are `pixel` floats apart.
  std::int64_t pixel = kChannelBlock, run = kChannelBlock;
  std::int64_t in_blocks = 1, out_blocks = 1;  // of each group
  const float* x = nullptr;
  std::int64_t block_stride = 0, image_stride = 0;  // of x, in floats
  const float* weights = nullptr;                   // for each group, as conv_panels orders them
  const float* bias = nullptr;                      // for each group 16 · panels; null: none
  float* y = nullptr;
  const float* addend = nullptr;  // added to the result; laid out as y is, and may be y
  // Instead of y and addend: [batch][group][out_channels][space]. Not for phases of a transposed convolution.
  float* plain = nullptr;
  std::int64_t out_channels = 0;  // of each group
  Activation activation;
  const ConvFinish* finish = nullptr;  // null: nothing

  std::int64_t taps() const {
    return std::ssize((*axes)[0].taps) * std::ssize((*axes)[1].taps) * std::ssize((*axes)[2].taps);
  }
  std::int64_t depth() const { return in_blocks * taps() * run; }
  std::int64_t panels() const { return (out_blocks + 1) / 2; }
  std::int64_t positions() const { return (*axes)[0].count * (*axes)[1].count * (*axes)[2].count; }
  std::int64_t out_space() const { return (*axes)[0].output * (*axes)[1].output * (*axes)[2].output; }
};
void conv_float(const FloatConvWork& work, ThreadPool& pool);

// Weights for one set of axes: [group][panel of 16 outputs][input block][tap][input][16], zero past the last
// channel. weight(o, i, k): output and input channel of the group, tap of the kernel.
struct WeightView {
  const float* data = nullptr;
  std::int64_t group = 0, output = 0, input = 0;  // strides; taps are adjacent
};
std::int64_t conv_panels_size(std::int64_t groups, std::int64_t outputs, std::int64_t inputs,
                              std::int64_t taps);
void conv_panels(const WeightView& weights, const ConvAxes& axes, const Window& window, std::int64_t groups,
                 std::int64_t outputs, std::int64_t inputs, float* to);

// Biases as FloatConvWork has them.
std::int64_t conv_bias_size(std::int64_t groups, std::int64_t outputs);
void conv_bias(std::int64_t groups, std::int64_t outputs, const float* bias, float* to);

}  // namespace anybit::kernels
