// Block minifloats: x / 2^T rounded to the nearest minifloat whose top binade starts at 1, times 2^T, the
// largest power of two up to the maximum of the block.
#include "formats/block_minifloat.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::BlockMinifloatCodec;

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const auto& codec = dynamic_cast<const BlockMinifloatCodec&>(setup.codec);
  const int top_field = (1 << codec.layout(0).exponent_bits) - 1;
  const Term numbers = finite(x);
  const Term top =
      clip(power_below(groups.largest(abs(numbers)), -149), std::ldexp(1, top_field - codec.highest_bias()),
           std::ldexp(1, top_field - codec.lowest_bias()));
  return with_sign_of(x, limited(to_minifloat(numbers / top, codec.layout(top_field), setup.rounding) * top));
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const auto& codec = dynamic_cast<const BlockMinifloatCodec&>(setup.codec);
  const std::vector<double> powers = powers_of_biases(codec.lowest_bias(), codec.highest_bias());
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
