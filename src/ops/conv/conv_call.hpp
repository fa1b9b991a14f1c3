// Checks shared by convolutions of all kinds.
#pragma once

#include "kernels/conv/activation.hpp"
#include "kernels/conv/conv_direct.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Checks that the shapes fit together and that no size overflows.
Result<kernels::ConvSizes> conv_sizes(const Attributes& node, const Dims& x, const Dims& w);
// The sizes that follow from the weight alone: channels, groups and kernel. Nothing if it is not the weight
// of a convolution.
std::optional<kernels::ConvSizes> weight_sizes(const Attributes& node, const Dims& w);
// Checks that there is one value per output channel.
Result<void> check_bias(const Array& bias, ElementType type, std::int64_t channels);
// By FusedConv's names.
Result<kernels::Activation> activation_named(std::string_view name, std::span<const float> parameters);
// `activation` and `activation_params`, as FusedConv has them.
Result<kernels::Activation> activation_of(const Attributes& node);

}  // namespace anybit::ops
