// Statistics of a group's values, for formats that choose their parameters from data. Sums are in double, in
// chunks of 4096 values whose sums are added in index order, so that they depend on the values only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "formats/codec.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

inline constexpr std::size_t kSumChunk = 4096;

// The sum of term(i) for i below `count`.
template <class Term>
double chunked_sum(std::size_t count, Term term) {
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += kSumChunk) {
    const std::size_t end = std::min(count, begin + kSumChunk);
    double part = 0;
    for (std::size_t i = begin; i < end; ++i) part += term(i);
    total += part;
  }
  return total;
}

// The sum and count of |x| over the finite values with |x| > above.
struct MagnitudeSum {
  double sum = 0;
  std::int64_t count = 0;
  // `factor` times the mean, 0 if there are no values. The division comes last, so that a mean that double
  // represents is exact.
  double mean(double factor = 1) const {
    return count == 0 ? 0.0 : factor * sum / static_cast<double>(count);
  }
};
inline MagnitudeSum sum_magnitudes(std::span<const float> values, float above = -1) {
  MagnitudeSum result;
  result.sum = chunked_sum(values.size(), [&](std::size_t i) {
    const float magnitude = std::fabs(values[i]);
    if (!is_finite(magnitude) || !(magnitude > above)) return 0.0;
    ++result.count;
    return static_cast<double>(magnitude);
  });
  return result;
}

// The minimum and maximum of the finite values; 0 and 0 if there are none.
inline Range finite_range(std::span<const float> values) {
  Range range{kInfinity, -kInfinity};
  for (const float x : values) {
    if (!is_finite(x)) continue;
    range.low = std::min(range.low, x);
    range.high = std::max(range.high, x);
  }
  return range.low <= range.high ? range : Range{};
}

// A range from a caller must be two finite numbers in order.
inline Result<void> check_range(Range range) {
  if (is_finite(range.low) && is_finite(range.high) && range.low <= range.high) return {};
  return invalid_argument(fmt::format("invalid range: {:g} to {:g}", range.low, range.high),
                          "two finite numbers, the lower one first");
}

inline float largest_magnitude(Range range) { return std::max(std::fabs(range.low), std::fabs(range.high)); }

// Scales are at least the smallest normal float32: division by a subnormal differs between CPUs.
inline constexpr float kSmallestScale = 0x1p-126f;

}  // namespace anybit::formats
