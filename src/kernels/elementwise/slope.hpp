// Derivatives of elementwise functions of float32, times a gradient.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// The derivative at v, the function's input x or output y; a and b are the function's parameters.
enum class Slope : std::uint8_t {
  relu,          // y > 0
  clip,          // a ≤ x ≤ b
  hard_swish,    // 0 below -3, 1 above 3, between them x/3 + 1/2
  hard_sigmoid,  // a if 0 < y < 1
  sigmoid,       // y · (1 - y)
  tanh,          // 1 - y²
  gelu,          // Φ(x) + x · φ(x)
  tanh_gelu,     // of the approximation by tanh
  // By x, with a and b as in kernels::Map:
  celu,
  elu,
  erf,
  leaky_relu,
  mish,
  selu,
  softplus,
  softsign,
  swish,
  thresholded_relu,
};

// out[i] = dy[i] · slope(v[i]). `out` may be dy or v.
void times_slope(Slope function, const float* dy, const float* v, float* out, std::size_t n, float a = 0,
                 float b = 0);

}  // namespace anybit::kernels
