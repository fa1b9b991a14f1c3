// Conversion between float32 and 8-bit or 16-bit integers: q = clamp(round(x / scale) + zero_point), x = (q -
// zero_point) · scale. float32 division, half to even; NaN becomes the zero point. docs/formats.md#affine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// Element i uses the parameters at i · step; step is 0 (shared by all) or 1.
struct Scales {
  const float* scales;
  const std::int32_t* zero_points;
  std::size_t step;
};

// Q: uint8, int8, uint16, int16.
template <class Q>
void quantize(const float* x, const Scales& scales, Q* out, std::size_t n);
template <class Q>
void dequantize(const Q* q, const Scales& scales, float* out, std::size_t n);

struct Ends {
  float low = 0, high = 0;
};
// The minimum and maximum of the values and zero; NaN is ignored.
Ends ends(const float* x, std::size_t n);

// Quantized Add and Mul: round(f) + zero_point, clamped, with
//   sum: f = (a - a_zero) · a_factor + (b - b_zero) · b_factor
//   product: f = (a - a_zero) · (b - b_zero) · a_factor
struct QuantizedPair {
  float a_factor = 1, b_factor = 1;
  std::int32_t a_zero = 0, b_zero = 0, zero_point = 0;
};
// out[i] = f(a[i · a_step], b[i · b_step]); the steps are 0 or 1. `out` may be a or b.
template <class Q>
void quantized_sum(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                   const QuantizedPair& by);
template <class Q>
void quantized_product(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                       const QuantizedPair& by);

}  // namespace anybit::kernels
