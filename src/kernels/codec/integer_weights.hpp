// Quantizes weights to integers of 2 to 16 bits: per-channel minimum and maximum, from which scales are
// chosen, then the quantized values and their error. As in kernels/elementwise/quantize.hpp: float32
// division, half to even. The same bits on every CPU, sums included.
#pragma once

#include "kernels/elementwise/quantize.hpp"

namespace anybit::kernels {

// Extends low[i · step] … high[i · step] to contain x[i]; step is 0 or 1. Returns the float32 bits of the
// largest magnitude, so that infinities and NaNs stay visible; low and high are then meaningless.
std::uint32_t widen(const float* x, std::size_t n, float* low, float* high, std::size_t step);

struct CodeRange {
  std::int32_t low = -128, high = 127;
  std::int32_t mask = -1;  // stored bits of a quantized value
};

struct Loss {
  double signal = 0, noise = 0;  // sums of squares of the values and of their errors
};

Loss code(const float* x, const Scales& scales, const CodeRange& range, std::int8_t* out, std::size_t n);
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::uint8_t* out, std::size_t n);
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::int16_t* out, std::size_t n);
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::uint16_t* out, std::size_t n);

}  // namespace anybit::kernels
