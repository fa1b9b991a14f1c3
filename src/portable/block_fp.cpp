// Block floating point: multiples of 2^(E - bits), with E from the maximum of the block.
#include "formats/block_fp.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/fit.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::BlockFpCodec;
using formats::BlockFpLayout;

constexpr int kLowestOfQuark = -127;  // the exponent of subnormal maxima

Term power_for(const BlockFpLayout& layout, const Term& largest) {
  const int lowest = layout.lowest_exponent(), highest = layout.highest_exponent();
  const auto clamped = [&](const Term& power) {
    return clip(power, std::ldexp(1, lowest), std::ldexp(1, highest));
  };
  if (layout.rule == BlockFpLayout::Rule::fit)
    return clamped(fitting_power(largest, layout.magnitude_bits(), lowest - 2));
  if (layout.rule != BlockFpLayout::Rule::clip) return clamped(power_below(largest, kLowestOfQuark) * 2);
  const Term below = power_below(largest, lowest);
  return clamped(where(greater(largest, below), below * 2, below));
}

// 2^E of a block: with the rule fit_positive, the next one if a positive value exceeds the largest M.
Term power_for(const BlockFpLayout& layout, const Groups& groups, const Term& numbers) {
  const Term power = power_for(layout, groups.largest(abs(numbers)));
  if (layout.rule != BlockFpLayout::Rule::fit_positive) return power;
  const double limit = 1 - std::ldexp(1, -layout.magnitude_bits() - 1);
  return where(at_least(groups.largest(max(numbers, 0)), power * limit), power * 2, power);
}

Result<Term> quantize_as_quark(const Setup& setup, const BlockFpLayout& layout, const Groups& groups,
                               const Term& x) {
  const Term numbers = only_finite(x);
  const Term step = power_for(layout, groups, numbers) * std::ldexp(1, -layout.magnitude_bits());
  const Term whole =
      clip(rounded(numbers / step, setup.rounding), layout.lowest_integer(), layout.largest_magnitude());
  const Term result = where(either(is_nan(x), is_infinite(x)), x, whole * step);
  return with_sign_of_quark(x, step, result, setup.rounding);
}

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const BlockFpLayout& layout = dynamic_cast<const BlockFpCodec&>(setup.codec).layout();
  if (layout.quark) return quantize_as_quark(setup, layout, groups, x);
  const Term numbers = finite(x);
  const Term power = power_for(layout, groups, numbers);
  return with_sign_of(x, limited(to_fraction(numbers, layout.magnitude_bits(), power, setup.rounding)));
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const BlockFpLayout& layout = dynamic_cast<const BlockFpCodec&>(setup.codec).layout();
  std::vector<float> steps;
  for (int e = layout.lowest_exponent(); e <= layout.highest_exponent(); ++e)
    steps.push_back(formats::power_of_two(e - layout.magnitude_bits()));
  return signed_magnitudes(codes, layout.width) * look_up(steps, to_index(groups.spread(fields[0])));
}

}  // namespace

std::span<const Descriptor> block_fp_descriptors() {
  static const Descriptor all[] = {{.family = "block_fp", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
