// Minifloats without an implicit leading bit: rounds to the nearest multiple of 2^(E - m), with the smallest
// E with |x| < 2^E.
#include "formats/minifloat_denorm.hpp"

#include <cmath>

#include "formats/mase_codec.hpp"
#include "portable/codes.hpp"
#include "portable/mase.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::DenormCodec;
using formats::DenormLayout;

Term quantize_as_mase(const DenormLayout& layout, const Term& x) {
  const Term numbers = finite(x), a = abs(numbers);
  const Term nudged = mase::sum(a, x.body().real(formats::mase::kNudge));
  const Term step = mase::ceil_power(nudged, {layout.lowest_exponent(), layout.highest_exponent()}) *
                    std::ldexp(1, -layout.mantissa_bits);
  const Term magnitude = min(round(a / step), std::ldexp(1, layout.mantissa_bits) - 1) * step;
  return mase::with_sign(numbers, mase::pass(numbers, magnitude));
}

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  const DenormLayout& layout = formats::base_of<DenormCodec>(setup.codec).layout();
  if (formats::is_mase(setup.codec)) return quantize_as_mase(layout, x);
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
  const DenormLayout& layout = formats::base_of<DenormCodec>(setup.codec).layout();
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
