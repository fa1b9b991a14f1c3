// The activations that recurrent networks spend their time in, on float32 rows, in place.
#pragma once

#include <cstddef>

namespace anybit::kernels {

void sigmoid_row(float* x, std::size_t n);
void tanh_row(float* x, std::size_t n);

}  // namespace anybit::kernels
