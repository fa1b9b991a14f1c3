// Unary elementwise functions of float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// a and b are the function's parameters.
enum class Map : std::uint8_t {
  absolute,
  ceil,
  celu,  // max(0, x) + min(0, a·(e^(x/a) - 1))
  clip,  // to [a, b]; if a > b, b
  elu,   // x; below zero a·(e^x - 1)
  erf,
  exp,
  floor,
  gelu,
  hard_sigmoid,  // clamp(a·x + b, 0, 1)
  hard_swish,    // x · hard_sigmoid(x) with a, b
  leaky_relu,    // x; below zero a·x
  log,
  mish,
  negative,
  reciprocal,
  relu,
  round,   // half to even
  selu,    // b · (x; below zero a·(e^x - 1))
  shrink,  // x + b below -a, x - b above a, otherwise 0
  sigmoid,
  sign,
  softplus,
  softsign,
  sqrt,
  swish,  // x · sigmoid(a·x)
  tanh,
  tanh_gelu,
  thresholded_relu,  // x above a, otherwise 0
};

// out[i] = f(x[i]). `out` may be x. NaN stays NaN.
void map(Map function, const float* x, float* out, std::size_t n, float a = 0, float b = 0);

}  // namespace anybit::kernels
