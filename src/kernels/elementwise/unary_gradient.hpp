// Gradients of unary elementwise functions of float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// Parameters a and b as in kernels::Map. `v` is the function's result where that is enough, else its argument.
enum class Slope : std::uint8_t {
  celu,
  clip,
  elu,
  erf,
  gelu,
  hard_sigmoid,
  hard_swish,
  leaky_relu,
  mish,
  relu,  // by the result
  selu,
  sigmoid,  // by the result
  softplus,
  softsign,
  swish,
  tanh,  // by the result
  tanh_gelu,
  thresholded_relu,
};

// out[i] = dy[i] · f'(v[i]). `out` may be dy or v.
void map_gradient(Slope function, const float* dy, const float* v, float* out, std::size_t n, float a, float b);

}  // namespace anybit::kernels
