#include "quantize/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/affine.hpp"
#include "formats/table.hpp"

namespace anybit::quantizing {

using graph::IntegerRange;
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

std::int32_t middle(const IntegerRange& codes) { return codes.low < 0 ? 0 : 1 << (codes.bits - 1); }

ScaleAndZero symmetric_over(double largest, double top, const IntegerRange& codes) {
  const double scale = largest / top;
  return {usable(scale) ? formats::within_float32(static_cast<float>(scale), top) : 1.0F, middle(codes)};
}

ScaleAndZero asymmetric_over(double low, double high, const IntegerRange& codes) {
  const double wide = (high - low) / (static_cast<double>(codes.high) - codes.low);
  const float scale = usable(wide) ? static_cast<float>(wide) : 1.0F;
  // Divided as formats do (affine.cpp): a range with zero in its middle has one zero point everywhere.
  const auto steps = static_cast<double>(static_cast<float>(low) / scale);
  const double zero = std::nearbyint(std::clamp<double>(codes.low - steps, codes.low, codes.high));
  return {formats::within_float32(scale, std::max(codes.high - zero, zero - codes.low)),
          static_cast<std::int32_t>(zero)};
}

namespace {

// The largest value of a floating-point format.
double largest_of(const Spec& spec) { return formats::make(spec.format())->get()->properties().largest; }

Parameters of_floats(double largest, const Spec& spec) {
  const double top = largest_of(spec);
  return one(spec.element(), symmetric_over(largest, top, {}).scale, 0);
}

}  // namespace

std::int64_t levels_of(const Spec& spec) {
  if (!spec.is_integer())
    return std::int64_t{1} << formats::make(spec.format(), spec.use.parameters)->get()->bits();
  const IntegerRange codes = spec.codes();
  return std::int64_t{codes.high} - codes.low + 1;
}

Ends ends_of(const Spec& spec, std::int32_t zero_point) {
  if (!spec.is_integer()) {
    const auto largest = static_cast<float>(largest_of(spec));
    return {-largest, largest};
  }
  const IntegerRange codes = spec.codes();
  return {static_cast<float>(codes.low - zero_point), static_cast<float>(codes.high - zero_point)};
}

Parameters from_range(const calibrate::Range& range, const Spec& spec) {
  const double low = std::min(0.0, static_cast<double>(range.low)),
               high = std::max(0.0, static_cast<double>(range.high));
  if (!spec.is_integer()) return of_floats(std::max(-low, high), spec);
  const IntegerRange codes = spec.codes();
  const auto [scale, zero] = spec.symmetric()
                                 ? symmetric_over(std::max(-low, high), codes.high - middle(codes), codes)
                                 : asymmetric_over(low, high, codes);
  return one(spec.element(), scale, zero);
}

Parameters from_given(const Spec& spec) {
  if (spec.given.range) return from_range({spec.given.range->first, spec.given.range->second}, spec);
  return one(spec.element(), spec.given.scales[0], given_zero_point(spec, 0));
}

std::int32_t given_zero_point(const Spec& spec, std::size_t i) {
  const std::vector<std::int32_t>& zeros = spec.given.zero_points;
  if (zeros.empty()) return spec.is_integer() && spec.symmetric() ? middle(spec.codes()) : 0;
  return zeros[zeros.size() == 1 ? 0 : i];
}

Parameters from_fixed(const ops::Traits::Range& range, const Spec& spec) {
  const double low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  if (!spec.is_integer()) return of_floats(std::max(-low, high), spec);
  const IntegerRange codes = spec.codes();
  const double steps = std::ldexp(1.0, codes.bits);
  if (spec.symmetric() || codes.bits > 8)  // 16 bits: the same steps on both sides of zero
    return one(spec.element(), static_cast<float>(std::max(-low, high) / (steps / 2)), middle(codes));
  const double scale = (std::max(0.0, high) - std::min(0.0, low)) / steps;
  const double zero = std::clamp<double>(codes.low - std::min(0.0, low) / scale, codes.low, codes.high);
  return one(spec.element(), static_cast<float>(scale), static_cast<std::int32_t>(std::nearbyint(zero)));
}

}  // namespace anybit::quantizing
