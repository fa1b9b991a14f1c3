// Fake quantization as AMD Quark's operators do it, where that differs from encoding and decoding: the
// quotient is a float32, zeros have signs of their own, and overflow is infinite. docs/formats.md#amd-quark.
#pragma once

#include <algorithm>

#include "formats/float_bits.hpp"
#include "formats/rounding.hpp"

namespace anybit::formats {

// The exponent of a block's largest magnitude, which is finite. Subnormal numbers and zero count as
// 2^-127.
inline int quark_exponent(float largest) { return static_cast<int>(magnitude_bits(largest) >> 23) - 127; }

// How an integer of a block is rounded: multiples of scale / steps, both powers of two, from low to high
// steps.
struct QuarkInteger {
  double scale, steps, low, high;

  // Half to even, a negative number that becomes zero loses its sign, unless the quotient is zero already;
  // the other modes keep it.
  float operator()(float x, Rounding rounding, std::uint32_t noise) const {
    const double quotient = x / scale;
    const double whole = round_to_integer(quotient * steps, rounding, noise);
    if (whole == 0 && rounding == Rounding::half_even && static_cast<float>(quotient) != 0) return 0;
    return static_cast<float>(std::clamp(whole, low, high) * (scale / steps));
  }
};

}  // namespace anybit::formats
