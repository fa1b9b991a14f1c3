// Weights to integer codes of 2 to 16 bits: their ends, from which scales are chosen, and the codes with what
// they lose. As in kernels/quantize.hpp: float32 division, half to even. The same bits on every CPU, sums
// included.
#pragma once

#include "kernels/quantize.hpp"

namespace anybit::kernels {

// Widens low[i · step] … high[i · step] to hold x[i]; step is 0 or 1. Returns the largest magnitude as a
// float's bits: infinities and NaNs come out as such, and what the ends are then means nothing.
std::uint32_t widen(const float* x, std::size_t n, float* low, float* high, std::size_t step);

struct CodeRange {
  std::int32_t low = -128, high = 127;
  std::int32_t mask = -1;  // bits of the code that are stored
};

struct Loss {
  double signal = 0, noise = 0;  // sums of squares: of the values, and of what they lost
};

Loss code(const float* x, const Scales& scales, const CodeRange& range, std::int8_t* out, std::size_t n);
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::uint8_t* out, std::size_t n);
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::int16_t* out, std::size_t n);
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::uint16_t* out, std::size_t n);

}  // namespace anybit::kernels
