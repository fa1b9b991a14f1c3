// OCP Microscaling: x / 2^E rounded to the nearest element, times 2^E, which comes from the maximum of the
// block.
#include "formats/mx.hpp"

#include <algorithm>
#include <cmath>

#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::MxCodec;
using formats::MxOptions;
using formats::Nonfinite;
using formats::ScaleOverflow;
using formats::ScaleRule;

constexpr double kFraction = 64;  // int8 elements are multiples of 1/64

// The block scale 2^E.
Term scale_for(const MxCodec& codec, const Term& largest) {
  const MxOptions& options = codec.options();
  const int emax = codec.element().largest_exponent();
  Term power = power_below(largest, codec.lowest_exponent() + emax);
  if (options.scale_rule == ScaleRule::ceil) power = where(greater(largest, power), power * 2, power);
  if (options.scale_rule == ScaleRule::even) {
    const double carries = 2 - std::ldexp(1, -codec.element().mantissa_bits() - 1);
    power = where(at_least(largest, power * carries), power * 2, power);
  }
  const Term scale = power * std::ldexp(1, -emax);
  const double most = std::ldexp(1, MxCodec::kHighestExponent);
  return options.scale_overflow == ScaleOverflow::nan ? where(greater(scale, most), formats::kNan, scale)
                                                      : min(scale, most);
}

Term nearest_element(const Setup& setup, const MxCodec& codec, const Term& x) {
  if (!codec.element().integer) return to_minifloat(x, codec.element().layout, setup.rounding);
  const double lowest = codec.options().symmetric ? -127 : -128;
  return without_negative_zero(clip(rounded(x * kFraction, setup.rounding), lowest, 127)) / kFraction;
}

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const auto& codec = dynamic_cast<const MxCodec&>(setup.codec);
  const bool by_element = codec.options().nonfinite == Nonfinite::element;
  const Term numbers = by_element ? only_finite(x) : finite(x);
  const Term scale = scale_for(codec, groups.largest(abs(numbers)));
  // A NaN scale is applied only at the end: there is no element for x / NaN.
  const bool may_be_nan = codec.options().scale_overflow == ScaleOverflow::nan;
  const Term divisor = may_be_nan ? where(is_nan(scale), 1, scale) : scale;
  const Term elements = nearest_element(setup, codec, numbers / divisor);
  const auto all_finite_or_nan = [&] { return limited(elements * (scale + groups.sum(x * 0))); };
  const bool quark = codec.options().quark;
  const auto by_itself = [&] {
    const Term value = quark ? elements * scale : limited(elements * scale);
    return where(either(is_nan(x), is_infinite(x)), x, value);
  };
  const Term result = by_element ? by_itself() : all_finite_or_nan();
  if (quark && codec.element().integer) return with_sign_of_quark(x, scale, result, setup.rounding);
  if (quark) return abs(result) * where(equal(result, 0), 1, sign_of(x));
  return codec.element().integer ? result : with_sign_of(x, result);
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  constexpr std::uint32_t kNoExponent = 0;
  // NaN and infinity are applied last, as a factor: they would not survive the saturation.
  std::vector<float> elements = numbers_of(setup.codec, {&kNoExponent, 1}), factors;
  for (float& one : elements) {
    factors.push_back(formats::is_finite(one) ? 1 : std::fabs(one));
    if (!formats::is_finite(one)) one = std::copysign(1.0f, one);
  }
  std::vector<float> scales, nan_or_one(255, 1.0f);
  for (int e = MxCodec::kLowestExponent; e <= MxCodec::kHighestExponent; ++e)
    scales.push_back(formats::power_of_two(e));
  scales.push_back(1);
  nan_or_one.push_back(formats::kNan);
  const Term scale_codes = to_index(groups.spread(fields[0]));
  const Term result = limited_single(look_up(elements, codes) * look_up(scales, scale_codes)) *
                      look_up(nan_or_one, scale_codes);
  const bool all_finite = std::ranges::all_of(factors, [](float factor) { return factor == 1; });
  return all_finite ? result : result * look_up(factors, codes);
}

}  // namespace

std::span<const Descriptor> mx_descriptors() {
  static const Descriptor all[] = {{.family = "mx", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
