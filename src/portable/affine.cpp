// Affine integers: clamp(round(x / scale) + zero point), with the scale from the range of the values.
// Divisions that the format defines in float32 are in float32 here.
#include "formats/affine.hpp"

#include <cmath>
#include <limits>

#include "formats/sums.hpp"
#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::AffineCodec;
using formats::AffineLayout;
using formats::Rounding;
using formats::ScaleKind;
using formats::significant_bits;

constexpr double kLargest = std::numeric_limits<float>::max();

// The spacing of scales of that kind around `scale`.
Term step_at(const Term& scale, ScaleKind kind) {
  return power_below(scale, -126) * std::ldexp(1, 1 - significant_bits(kind));
}

Term of_kind(const Term& scale, ScaleKind kind) {
  const double largest = std::ldexp(2 - std::ldexp(1, 1 - significant_bits(kind)), 127);
  const Term step = step_at(scale, kind);
  switch (kind) {
    case ScaleKind::float16:
      return max(to_minifloat(scale, formats::kFloat16, Rounding::half_even), formats::kFloat16.smallest());
    case ScaleKind::bfloat16:
    case ScaleKind::multiplier15:
      return min(round(scale / step) * step, largest);
    case ScaleKind::power_of_two:
      return min(nearest_power(scale, -126), largest);
    case ScaleKind::power_of_two_ceil:
      return min(where(greater(scale, step), step * 2, step), largest);
    case ScaleKind::float32:
    case ScaleKind::multiplier31:
      break;
  }
  return scale;
}

// Limits the scale so that scale × steps does not overflow float32.
Term within_float32(const Term& scale, const Term& steps, ScaleKind kind) {
  const Term limit = scale.body().real(kLargest) / steps;
  const Term step = step_at(limit, kind);
  return where(greater(scale, limit), floor(limit / step) * step, scale);
}

// Quantization parameters in float64, with the rank of the layout.
struct Parameters {
  Term scale, zero_point;
};

Parameters choose(const Setup& setup, const AffineCodec& codec, const Groups& groups, const Term& numbers) {
  const AffineLayout& layout = codec.layout();
  FunctionBody& body = numbers.body();
  const int lowest = layout.lowest(), highest = layout.highest(), middle = layout.fixed_zero_point();
  const Term low = groups.smallest(numbers);
  const Term high = groups.largest(numbers);
  const Term width = layout.symmetric ? max(-low, high) : high - low;
  const double steps = layout.symmetric ? highest - middle : highest - lowest;
  const float eps = std::max(static_cast<float>(formats::real(setup.values, "eps")), formats::kSmallestScale);
  const Term wanted = max(to_double(to_single(width / steps)), eps);
  const Term scale = of_kind(wanted, codec.kind());
  const Term nothing = equal(width, 0);
  Term zero_point = body.real(middle), reach = body.real(steps);
  if (!layout.symmetric) {
    const Term zero = body.real(lowest) - to_double(to_single(low) / to_single(scale));
    zero_point = where(nothing, lowest, round(clip(zero, lowest, highest)));
    reach = max(body.real(highest) - zero_point, zero_point - lowest);
  }
  return {fill_empty_scales(nothing, within_float32(scale, reach, codec.kind())), zero_point};
}

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const auto& codec = dynamic_cast<const AffineCodec&>(setup.codec);
  const AffineLayout& layout = codec.layout();
  const auto [scale, zero_point] = choose(setup, codec, groups, only_finite(x));
  const Term divisor = to_single(scale);
  const Term quotient = to_double(to_single(where(is_nan(x), 0, x)) / divisor);
  const Term steps = rounded(quotient, setup.rounding);
  const Term low = x.body().real(layout.lowest()) - zero_point;
  const Term high = x.body().real(layout.highest()) - zero_point;
  return to_single(without_negative_zero(min(max(steps, low), high))) * divisor;
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const auto& codec = dynamic_cast<const AffineCodec&>(setup.codec);
  const AffineLayout& layout = codec.layout();
  Term steps = integers(codes, layout.bits, layout.is_signed);
  if (!layout.symmetric) {
    steps = steps - to_single(groups.spread(fields[1]));
  } else if (layout.fixed_zero_point() != 0) {
    steps = steps - codes.body().single(static_cast<float>(layout.fixed_zero_point()));
  }
  return steps * to_single(groups.spread(fields[0]));
}

}  // namespace

std::span<const Descriptor> affine_descriptors() {
  static const Descriptor all[] = {{.family = "affine", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
