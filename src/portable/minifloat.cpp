// Minifloats: rounds to the nearest multiple of the ulp in the binade of the value.
#include "formats/minifloat.hpp"

#include <cmath>

#include "formats/mase_codec.hpp"
#include "portable/codes.hpp"
#include "portable/mase.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::E8m0Codec;
using formats::Flavour;
using formats::kInfinity;
using formats::kNan;
using formats::MinifloatCodec;
using formats::MinifloatLayout;

Term quantize_powers(const Setup& setup, const E8m0Codec& codec, const Term& x) {
  const double least = std::ldexp(1, -127), most = std::ldexp(1, 127);
  const Term a = max(finite(x), least);
  const Term below = power_below(a, -127);
  Term result = rounded(a / below, setup.rounding) * below;
  if (codec.saturate()) {
    result = clip(result, least, most);
  } else {
    result = where(either(greater(result, most), is_infinite(x)), kNan, result);
    result = where(greater(x, 0), result, kNan);
  }
  return where(is_nan(x), kNan, result);
}

Term quantize_as_mase(const MinifloatLayout& layout, const Term& x) {
  const int lowest = -layout.bias, highest = (1 << layout.exponent_bits) - 1 - layout.bias;
  const Term numbers = finite(x), a = abs(numbers);
  const Term nudged = mase::sum(a, x.body().real(formats::mase::kNudge));
  const Term power = mase::floor_power(nudged, {lowest, highest});
  const Term magnitude =
      mase::minifloat(a, power, x.body().real(std::ldexp(1, lowest)), layout.mantissa_bits);
  return mase::with_sign(numbers, mase::pass(numbers, magnitude));
}

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  if (const auto* powers = dynamic_cast<const E8m0Codec*>(&setup.codec))
    return quantize_powers(setup, *powers, x);
  const auto& codec = formats::base_of<MinifloatCodec>(setup.codec);
  const MinifloatLayout& layout = codec.layout();
  if (formats::is_mase(setup.codec)) return quantize_as_mase(layout, x);
  const Term numbers = finite(x);
  Term result = to_unbounded_minifloat(numbers, layout, setup.rounding);
  if (codec.saturate() || layout.flavour == Flavour::finite) {
    result = clip(result, -layout.largest(), layout.largest());
  } else {
    const Term too_large = either(greater(abs(result), layout.largest()), is_infinite(x));
    result = where(too_large, layout.flavour == Flavour::inf ? kInfinity : kNan, result);
  }
  if (layout.flavour != Flavour::finite) result = where(is_nan(x), kNan, result);
  return layout.flavour == Flavour::fnuz ? without_negative_zero(result) : with_sign_of(x, result);
}

Term decode(const Setup& setup, const Groups&, const Term& codes, std::span<const Term>) {
  if (setup.codec.bits() <= kMostTableBits) return look_up(numbers_of(setup.codec, {}), codes);
  return to_single(minifloats(codes, formats::base_of<MinifloatCodec>(setup.codec).layout()));
}

}  // namespace

std::span<const Descriptor> minifloat_descriptors() {
  static const Descriptor all[] = {{.family = "minifloat", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
