// Sign-magnitude elements of block formats: a sign above `bits` bits of an integer M, ±2^E * M / 2^bits. Zero
// keeps its sign; NaN, which has no code, becomes zero.
#pragma once

#include "formats/block.hpp"

namespace anybit::formats {

inline Code16 encode_sign_magnitude(float x, int bits, int exponent, Rounding rounding, std::uint32_t noise) {
  if (is_nan(x)) return 0;
  const double units = std::ldexp(static_cast<double>(x), bits - exponent);
  const double magnitude = std::fabs(round_to_integer(units, rounding, noise));
  const int code = static_cast<int>(std::min<double>(magnitude, (1 << bits) - 1));
  return static_cast<Code16>(code | (is_negative(x) ? 1 << bits : 0));
}

inline float decode_sign_magnitude(Code16 code, int bits, int exponent) {
  const float magnitude = nearest_finite_float(std::ldexp(code & ((1 << bits) - 1), exponent - bits));
  return ((code >> bits) & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace anybit::formats
