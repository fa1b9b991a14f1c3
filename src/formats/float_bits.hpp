// The bits of a float32. Exponents are read from the bits, never computed by log2f: powers of two are exact.
#pragma once

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

namespace anybit::formats {

inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t magnitude_bits(float x) { return bits_of(x) & 0x7FFFFFFFu; }
inline bool is_negative(float x) { return (bits_of(x) >> 31) != 0; }
inline bool is_nan(float x) { return magnitude_bits(x) > 0x7F800000u; }
inline bool is_finite(float x) { return magnitude_bits(x) < 0x7F800000u; }

// floor(log2 |x|) of a finite, non-zero x; subnormals included.
inline int exponent_of(float x) {
  const std::uint32_t bits = magnitude_bits(x);
  if (bits >= 0x00800000u) return static_cast<int>(bits >> 23) - 127;
  return 31 - std::countl_zero(bits) - 149;
}

// 2^e, exact for every e that float32 has (-149 … 127).
inline float power_of_two(int e) {
  assert(e >= -149 && e <= 127);
  return e >= -126 ? float_of(static_cast<std::uint32_t>(e + 127) << 23) : float_of(1u << (e + 149));
}

// 2^e as a double, for e in -1022 … 1023. A float32 times it is exact while the result is a normal double.
inline double wide_power_of_two(int e) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace anybit::formats
