// What convolutions of all kinds check before they run.
#pragma once

#include "kernels/activation.hpp"
#include "kernels/conv_direct.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Shapes fit together; nothing is so large that it could not be counted.
Result<kernels::ConvSizes> conv_sizes(const Attributes& node, const Dims& x, const Dims& w);
// What the weights alone tell: channels, groups and the kernel. Nothing if they are not those of a
// convolution.
std::optional<kernels::ConvSizes> weight_sizes(const Attributes& node, const Dims& w);
// One number for each output channel.
Result<void> check_bias(const Array& bias, ElementType type, std::int64_t channels);
// `activation` and `activation_params`, as FusedConv has them.
Result<kernels::Activation> activation_of(const Attributes& node);

}  // namespace anybit::ops
