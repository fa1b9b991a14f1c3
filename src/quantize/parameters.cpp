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

constexpr float kSmallest = std::numeric_limits<float>::min();

}  // namespace

std::int32_t middle(const IntegerRange& integers) { return integers.low < 0 ? 0 : 1 << (integers.bits - 1); }

std::shared_ptr<const formats::AffineCodec> affine_codec(const Spec& spec) {
  return std::dynamic_pointer_cast<const formats::AffineCodec>(
      *formats::make(spec.format(), spec.use.parameters));
}

formats::AffineParameters over(const formats::AffineCodec& codec, formats::Range range) {
  const formats::AffineParameters chosen = codec.for_range(range);
  if (chosen.scale > kSmallest) return chosen;
  const formats::AffineLayout& layout = codec.layout();
  return {1, layout.symmetric ? layout.fixed_zero_point() : layout.lowest()};
}

float scale_over(double largest, double top) {
  const auto scale = static_cast<float>(largest / top);
  return scale > kSmallest ? formats::within_float32(scale, top) : 1;
}

namespace {

// The largest value of a floating-point format.
double largest_of(const Spec& spec) { return formats::make(spec.format())->get()->properties().largest; }

Parameters of_floats(double largest, const Spec& spec) {
  const double top = largest_of(spec);
  return one(spec.element(), scale_over(largest, top), 0);
}

}  // namespace

std::int64_t levels_of(const Spec& spec) {
  if (!spec.is_integer())
    return std::int64_t{1} << formats::make(spec.format(), spec.use.parameters)->get()->bits();
  const IntegerRange integers = spec.integers();
  return std::int64_t{integers.high} - integers.low + 1;
}

Ends ends_of(const Spec& spec, std::int32_t zero_point) {
  if (!spec.is_integer()) {
    const auto largest = static_cast<float>(largest_of(spec));
    return {-largest, largest};
  }
  const IntegerRange integers = spec.integers();
  return {static_cast<float>(integers.low - zero_point), static_cast<float>(integers.high - zero_point)};
}

Parameters from_range(const calibrate::Range& range, const Spec& spec) {
  const double low = std::min(0.0, static_cast<double>(range.low)),
               high = std::max(0.0, static_cast<double>(range.high));
  if (!spec.is_integer()) return of_floats(std::max(-low, high), spec);
  const auto [scale, zero_point] =
      over(*affine_codec(spec), {static_cast<float>(low), static_cast<float>(high)});
  return one(spec.element(), scale, zero_point);
}

Parameters from_given(const Spec& spec) {
  if (spec.given.range) return from_range({spec.given.range->first, spec.given.range->second}, spec);
  return one(spec.element(), spec.given.scales[0], given_zero_point(spec, 0));
}

std::int32_t given_zero_point(const Spec& spec, std::size_t i) {
  const std::vector<std::int32_t>& zeros = spec.given.zero_points;
  if (zeros.empty()) return spec.is_integer() && spec.symmetric() ? middle(spec.integers()) : 0;
  return zeros[zeros.size() == 1 ? 0 : i];
}

Parameters from_fixed(const ops::Traits::Range& range, const Spec& spec) {
  const double low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  if (!spec.is_integer()) return of_floats(std::max(-low, high), spec);
  const IntegerRange integers = spec.integers();
  const double steps = std::ldexp(1.0, integers.bits);
  if (spec.symmetric() || integers.bits > 8)  // 16 bits: equal steps on both sides of zero
    return one(spec.element(), static_cast<float>(std::max(-low, high) / (steps / 2)), middle(integers));
  const double scale = (std::max(0.0, high) - std::min(0.0, low)) / steps;
  const double zero =
      std::clamp<double>(integers.low - std::min(0.0, low) / scale, integers.low, integers.high);
  return one(spec.element(), static_cast<float>(scale), static_cast<std::int32_t>(std::nearbyint(zero)));
}

}  // namespace anybit::quantizing
