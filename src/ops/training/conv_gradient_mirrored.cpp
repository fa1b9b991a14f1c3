// The gradient of a convolution by its input as a convolution itself.
#include "kernels/conv/conv_winograd.hpp"
#include "ops/conv/conv_blocked.hpp"
#include "ops/layout.hpp"
#include "ops/training/conv_gradient_blocked.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

// Nothing if it would need negative padding.
std::optional<ConvSizes> mirrored(const ConvSizes& sizes) {
  ConvSizes other = sizes;
  std::swap(other.in_channels, other.out_channels);
  for (kernels::WindowAxis& axis : other.window) {
    const std::int64_t reach = axis.dilation * (axis.kernel - 1);
    if (axis.stride != 1 || axis.before > reach || axis.after > reach) return std::nullopt;
    std::swap(axis.input, axis.output);
    axis.before = reach - axis.before;
    axis.after = reach - axis.after;
  }
  return other;
}

// Whether the kernels of the forward pass are the fastest: those for depthwise convolutions, and Winograd's.
bool pays(const ConvSizes& sizes) {
  if (sizes.in_per_group() == 1 && sizes.out_per_group() == 1) return true;
  // Weights that change from run to run are transformed in each: measured.
  constexpr std::int64_t kFewest = 6000;
  return sizes.batch * output_size(sizes.window) >= kFewest && kernels::FloatWinogradWeights::fit(sizes) &&
         kernels::float_winograd_pays(sizes);
}

// [O, I / groups, taps] to [I, O / groups, taps], the taps in reverse.
void mirror_weights(const ConvSizes& sizes, const float* w, float* to) {
  const std::int64_t taps = kernel_size(sizes.window), in = sizes.in_per_group(), out = sizes.out_per_group();
  for (std::int64_t o = 0; o < sizes.out_channels; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      const float* from = w + (o * in + i) * taps;
      float* place = to + ((o / out * in + i) * out + o % out) * taps;
      for (std::int64_t k = 0; k < taps; ++k) place[k] = from[taps - 1 - k];
    }
  }
}

}  // namespace

Result<bool> gradient_by_input_mirrored(Frame& frame, const ConvSizes& sizes, const Array& w) {
  const auto other = mirrored(sizes);
  if (!other || !pays(*other)) return false;
  Dims dims = w.dims();
  dims[0] = sizes.in_channels;
  dims[1] = sizes.out_per_group();
  Array weights = TRY(scratch_array(frame, ElementType::float32, dims, Layout::plain));
  mirror_weights(sizes, w.data<float>(), weights.mutable_data<float>());
  const auto conv = TRY(BlockedConv::make(frame, frame.memory(), weights, nullptr, false, false, {}));
  return conv && TRY(conv->run(frame, *other, weights));
}

}  // namespace anybit::ops
