// Requantization of an integer accumulator to the next tensor; docs/formats.md#requantization. The scalar
// reference that kernels and generated code must match bit for bit.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "formats/affine.hpp"

namespace anybit::formats {

float requantization_multiplier(float input_scale, float weight_scale, float output_scale) {
  return static_cast<float>(static_cast<double>(input_scale) * weight_scale / output_scale);
}

std::int32_t requantize(std::int64_t acc, std::int64_t bias, float m, std::int32_t zero_point,
                        std::int32_t low, std::int32_t high) {
  const float product = static_cast<float>(acc + bias) * m;
  const double q = static_cast<double>(std::nearbyint(product)) + zero_point;
  return static_cast<std::int32_t>(std::clamp(q, static_cast<double>(low), static_cast<double>(high)));
}

Result<FixedMultiplier> fixed_multiplier(double m, int mantissa_bits) {
  constexpr int kMostShift = 62;
  if (!(m > 0) || !std::isfinite(m)) {
    return invalid_argument(fmt::format("a multiplier of {:g} is not possible", m),
                            "a finite number above 0");
  }
  const int exponent = std::ilogb(m);
  const int shift = std::min(mantissa_bits - 1 - exponent, kMostShift);
  const double mantissa = std::nearbyint(std::ldexp(m, shift));
  const bool carried = mantissa == std::ldexp(1.0, mantissa_bits);  // rounded up to the next power of two
  const FixedMultiplier result{static_cast<std::int32_t>(carried ? mantissa / 2 : mantissa),
                               carried ? shift - 1 : shift};
  if (shift >= 0 && result.shift >= 0) return result;
  return invalid_argument(
      fmt::format("a multiplier of {:g} is too large for {} bits of mantissa", m, mantissa_bits),
      fmt::format("less than 2^{}", mantissa_bits));
}

std::int64_t scale_by(std::int64_t acc, FixedMultiplier multiplier) {
  const std::int64_t product = acc * multiplier.mantissa;
  if (multiplier.shift == 0) return product;
  // Adding the half after the first shift avoids overflow.
  return ((product >> (multiplier.shift - 1)) + 1) >> 1;
}

}  // namespace anybit::formats
