// Between float32 and 8-bit integers: q = clamp(round(x / scale) + zero_point), x = (q - zero_point) · scale.
// float32 division, half to even; NaN becomes the zero point. docs/formats.md#affine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// The parameters of element i are at i · step; step is 0 (all have the same) or 1.
struct Scales {
  const float* scales;
  const std::int32_t* zero_points;
  std::size_t step;
};

void quantize(const float* x, const Scales& scales, std::uint8_t* out, std::size_t n);
void quantize(const float* x, const Scales& scales, std::int8_t* out, std::size_t n);
void dequantize(const std::uint8_t* q, const Scales& scales, float* out, std::size_t n);
void dequantize(const std::int8_t* q, const Scales& scales, float* out, std::size_t n);

struct Ends {
  float low = 0, high = 0;
};
// The smallest and the largest of the numbers and zero; NaN is passed over.
Ends ends(const float* x, std::size_t n);

// Sums and products of 8-bit tensors: round(f) + zero_point, clamped, with
//   sum: f = (a - a_zero) · a_factor + (b - b_zero) · b_factor
//   product: f = (a - a_zero) · (b - b_zero) · a_factor
struct QuantizedPair {
  float a_factor = 1, b_factor = 1;
  std::int32_t a_zero = 0, b_zero = 0, zero_point = 0;
};
// out[i] = f(a[i · a_step], b[i · b_step]); the steps are 0 or 1. `out` may be a or b.
void quantized_sum(const std::uint8_t* a, std::size_t a_step, const std::uint8_t* b, std::size_t b_step,
                   std::uint8_t* out, std::size_t n, const QuantizedPair& by);
void quantized_sum(const std::int8_t* a, std::size_t a_step, const std::int8_t* b, std::size_t b_step,
                   std::int8_t* out, std::size_t n, const QuantizedPair& by);
void quantized_product(const std::uint8_t* a, std::size_t a_step, const std::uint8_t* b, std::size_t b_step,
                       std::uint8_t* out, std::size_t n, const QuantizedPair& by);
void quantized_product(const std::int8_t* a, std::size_t a_step, const std::int8_t* b, std::size_t b_step,
                       std::int8_t* out, std::size_t n, const QuantizedPair& by);

}  // namespace anybit::kernels
