// Activations on the results of a convolution, with the bits of the separate operators.
#pragma once

#include <span>

#include "kernels/conv/activation.hpp"

namespace anybit::kernels {

void activate(const Activation& activation, std::span<float> y);

}  // namespace anybit::kernels
