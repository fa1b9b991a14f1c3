#include "quantize/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/affine.hpp"

namespace anybit::quantizing {

using lower::Codes;
using lower::Parameters;

namespace {

Parameters one(graph::ElementType type, float scale, std::int32_t zero_point) {
  return {.type = type, .scales = {scale}, .zero_points = {zero_point}, .dims = {}};
}

// A scale that would be zero, subnormal or infinite stands for values that are all zero, or cannot be told
// apart.
bool usable(double scale) {
  return scale >= static_cast<double>(std::numeric_limits<float>::min()) &&
         scale <= static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace

std::int32_t middle(const Codes& codes) { return codes.low < 0 ? 0 : 1 << (codes.bits - 1); }

ScaleAndZero symmetric_over(double largest, double top, const Codes& codes) {
  const double scale = largest / top;
  return {usable(scale) ? formats::within_float32(static_cast<float>(scale), top) : 1.0F, middle(codes)};
}

ScaleAndZero asymmetric_over(double low, double high, const Codes& codes) {
  const double wide = (high - low) / (static_cast<double>(codes.high) - codes.low);
  const float scale = usable(wide) ? static_cast<float>(wide) : 1.0F;
  // Divided as formats do (affine.cpp): a range with zero in its middle has one zero point everywhere.
  const auto steps = static_cast<double>(static_cast<float>(low) / scale);
  const double zero = std::nearbyint(std::clamp<double>(codes.low - steps, codes.low, codes.high));
  return {formats::within_float32(scale, std::max(codes.high - zero, zero - codes.low)),
          static_cast<std::int32_t>(zero)};
}

Parameters from_range(const calibrate::Range& range, const Spec& spec) {
  const Codes codes = lower::codes_of(spec.element());
  const double low = std::min(0.0, static_cast<double>(range.low)),
               high = std::max(0.0, static_cast<double>(range.high));
  const auto [scale, zero] = spec.symmetric
                                 ? symmetric_over(std::max(-low, high), codes.high - middle(codes), codes)
                                 : asymmetric_over(low, high, codes);
  return one(spec.element(), scale, zero);
}

Parameters from_fixed(const ops::Traits::Range& range, const Spec& spec) {
  const Codes codes = lower::codes_of(spec.element());
  const double steps = std::ldexp(1.0, codes.bits);
  const double low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  if (spec.symmetric || codes.bits > 8)  // 16 bits: the same steps on both sides of zero
    return one(spec.element(), static_cast<float>(std::max(-low, high) / (steps / 2)), middle(codes));
  const double scale = (std::max(0.0, high) - std::min(0.0, low)) / steps;
  const double zero = std::clamp<double>(codes.low - std::min(0.0, low) / scale, codes.low, codes.high);
  return one(spec.element(), static_cast<float>(scale), static_cast<std::int32_t>(std::nearbyint(zero)));
}

}  // namespace anybit::quantizing
