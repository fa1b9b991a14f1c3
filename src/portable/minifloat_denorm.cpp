// Minifloats without an implicit leading bit: rounds to the nearest multiple of 2^(E - m), with the smallest
// E with |x| < 2^E.
#include "formats/minifloat_denorm.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::DenormCodec;
using formats::DenormLayout;

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  const DenormLayout& layout = dynamic_cast<const DenormCodec&>(setup.codec).layout();
  const Term numbers = finite(x);
  // power_below gives 2^(E - 1).
  const Term below = power_below(abs(numbers), layout.lowest_exponent() - 1);
  const Term step = below * std::ldexp(1, 1 - layout.mantissa_bits);
  const Term result =
      clip(rounded(numbers / step, setup.rounding) * step, -layout.largest(), layout.largest());
  return with_sign_of(x, result);
}

Term decode(const Setup& setup, const Groups&, const Term& codes, std::span<const Term>) {
  if (setup.codec.bits() <= kMostTableBits) return look_up(numbers_of(setup.codec, {}), codes);
  const DenormLayout& layout = dynamic_cast<const DenormCodec&>(setup.codec).layout();
  const auto [sign, magnitude] = sign_magnitude(codes, layout.bits());
  std::vector<double> steps;
  for (int field = 0; field < 1 << layout.exponent_bits; ++field)
    steps.push_back(std::ldexp(1, field - layout.bias - layout.mantissa_bits));
  const double unit = std::ldexp(1, layout.mantissa_bits);
  const Term field = floor(magnitude / unit);
  return to_single((magnitude - field * unit) * look_up(steps, to_index(field)) * sign);
}

}  // namespace

std::span<const Descriptor> minifloat_denorm_descriptors() {
  static const Descriptor all[] = {{.family = "minifloat_denorm", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
