// Common to block formats: the block maximum, read from the bits, and the treatment of values that a shared
// exponent pushes out of float32.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.hpp"
#include "formats/codec.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

inline constexpr std::uint32_t kInfinityBits = 0x7F800000u;

// Bits of the largest magnitude, 0 for a block of zeros. Bits of magnitudes sort like the magnitudes, with
// Inf and NaN last.
inline std::uint32_t largest_bits(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float x : values) largest = std::max(largest, magnitude_bits(x));
  return largest;
}

// The same without Inf and NaN.
inline std::uint32_t largest_finite_bits(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float x : values) {
    if (is_finite(x)) largest = std::max(largest, magnitude_bits(x));
  }
  return largest;
}

// For formats without Inf and NaN: Inf counts as the largest float32; NaN, which becomes zero, is ignored.
inline float saturated_maximum(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float x : values) {
    if (!is_nan(x)) largest = std::max(largest, std::min(magnitude_bits(x), kInfinityBits - 1));
  }
  return float_of(largest);
}

// The significand of a finite, nonzero magnitude as 24 bits with the leading bit at bit 23: |x| = significand
// * 2^(exponent_of(x) - 23), subnormals included.
inline std::uint32_t significand_of(float x) {
  const std::uint32_t bits = magnitude_bits(x);
  if (bits >= 0x00800000u) return (bits & 0x007FFFFFu) | 0x00800000u;
  return bits << (std::countl_zero(bits) - 8);
}

// The smallest E for which a positive magnitude, rounded to a multiple of 2^(E - bits), is at most 2^bits - 1
// of them (1 <= bits <= 22).
inline int smallest_exponent_for(float magnitude, int bits) {
  const int exponent = exponent_of(magnitude) + 1;
  const bool carries = significand_of(magnitude) >= (1u << 24) - (1u << (23 - bits));
  return carries ? exponent + 1 : exponent;
}

inline int ceil_log2(float x) { return exponent_of(x) + (significand_of(x) != 1u << 23 ? 1 : 0); }

// The nearest float32; overflow becomes the largest float32, so that the code of a finite number never
// decodes to Inf.
inline float nearest_finite_float(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kLargest, kLargest));
}

// A shared exponent (or bias) is stored in its word as a signed integer.
inline int exponent_in(std::uint32_t word) { return static_cast<int>(word); }
inline std::uint32_t word_of(int exponent) { return static_cast<std::uint32_t>(exponent); }

// The parameters of a block that consists of these two values.
inline Result<void> choose_from_ends(const Codec& codec, Range range, Words words) {
  if (!is_finite(range.low) || !is_finite(range.high)) {
    return invalid_argument(fmt::format("a block cannot hold the range {:g} to {:g}", range.low, range.high),
                            "a finite range");
  }
  const float ends[] = {range.low, range.high};
  codec.choose_for_tensor(ends, words);
  codec.choose(ends, words);
  return {};
}

// Checks a shared exponent or bias from a file or a caller.
inline Result<void> check_exponent(int exponent, int lowest, int highest) {
  if (exponent >= lowest && exponent <= highest) return {};
  return invalid_argument(fmt::format("the shared exponent {} of a block is out of range", exponent),
                          fmt::format("{} to {}", lowest, highest));
}

}  // namespace anybit::formats
