// Block minifloats: x / 2^T rounded to the nearest minifloat whose top binade starts at 1, times 2^T, the
// largest power of two up to the maximum of the block.
#include "formats/block_minifloat.hpp"

#include <cmath>

#include "formats/mase_blocks.hpp"
#include "portable/codes.hpp"
#include "portable/mase.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::BlockMinifloatCodec;

using formats::MaseBlockMinifloatCodec;

// Both ends of the exponents follow the bias of the block.
Term quantize_as_mase(const MaseBlockMinifloatCodec& codec, const Groups& groups, const Term& x) {
  constexpr mase::Exponents kFloat32{-149, 128};
  const Term numbers = finite(x), a = abs(numbers);
  const Term one = x.body().real(1);
  const Term lowest = one / mase::floor_power(groups.largest(a), {0, codec.highest_bias()});
  const Term highest = lowest * std::ldexp(1, (1 << codec.exponent_bits()) - 1);
  const Term nudged = mase::sum(a, x.body().real(formats::mase::kNudge));
  const Term power = max(min(mase::floor_power(nudged, kFloat32), highest), lowest);
  const Term magnitude = limited(mase::minifloat(a, power, lowest, codec.mantissa_bits()));
  return mase::with_sign(numbers, mase::pass(numbers, magnitude));
}

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  if (const auto* mase = dynamic_cast<const MaseBlockMinifloatCodec*>(&setup.codec))
    return quantize_as_mase(*mase, groups, x);
  const auto& codec = dynamic_cast<const BlockMinifloatCodec&>(setup.codec);
  const int top_field = (1 << codec.layout(0).exponent_bits) - 1;
  const Term numbers = finite(x);
  const Term top =
      clip(power_below(groups.largest(abs(numbers)), -149), std::ldexp(1, top_field - codec.highest_bias()),
           std::ldexp(1, top_field - codec.lowest_bias()));
  return with_sign_of(x, limited(to_minifloat(numbers / top, codec.layout(top_field), setup.rounding) * top));
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const auto* mase = dynamic_cast<const MaseBlockMinifloatCodec*>(&setup.codec);
  const auto& codec = dynamic_cast<const BlockMinifloatCodec&>(mase ? mase->base() : setup.codec);
  const std::vector<double> powers = mase ? powers_of_biases(0, mase->highest_bias())
                                          : powers_of_biases(codec.lowest_bias(), codec.highest_bias());
  const Term power = look_up(powers, to_index(groups.spread(fields[0])));
  const Term magnitude = limited(abs(minifloats(codes, codec.layout(0))) * power);
  return to_single(magnitude * sign_magnitude(codes, codec.bits()).sign);
}

}  // namespace

std::span<const Descriptor> block_minifloat_descriptors() {
  static const Descriptor all[] = {{.family = "block_minifloat", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
