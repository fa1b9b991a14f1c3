// bfp_prime: multiples of 2^(E - d - bits), with E from the maximum of the block and E - d from that of each
// sub-block.
#include "formats/bfp_prime.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/fit.hpp"
#include "portable/numbers.hpp"
#include "portable/sub_blocks.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::BfpPrimeCodec;
using formats::BfpPrimeLayout;

constexpr std::int64_t kSubBlockAxis = 4;  // of [n, a, groups, b, sub-blocks]

const BfpPrimeLayout& layout_of(const Setup& setup) {
  return dynamic_cast<const BfpPrimeCodec&>(setup.codec).layout();
}

// 2^E for values with this largest magnitude.
Term power_of(const Term& largest) { return power_below(largest, BfpPrimeCodec::kLowestExponent - 1) * 2; }

Term without_subnormals(const Term& x) { return where(less(abs(x), 0x1p-126), 0, x); }

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const BfpPrimeLayout& layout = layout_of(setup);
  const Term placed = groups.places(x);
  const SubBlocks blocks(placed, layout.sub_block_size);
  const Term parts = blocks.split(placed, x.body().real(0)), numbers = without_subnormals(only_finite(parts));
  // ReduceMax of an empty group is not 0.
  const Term of_part = max(reduce("ReduceMax", abs(numbers), {0}), 0);
  const Term of_block = max(reduce("ReduceMax", of_part, {kSubBlockAxis}), 0);
  const Term own = max(power_of(of_part), power_of(of_block) * std::ldexp(1, -layout.largest_shift()));
  const Term result = to_fraction(numbers, layout.magnitude_bits(), own, setup.rounding);
  // Zero times Inf or NaN is NaN.
  const Term one_or_nan = groups.sum(x * 0) + 1;
  return groups.from_places(blocks.join(with_sign_of(parts, result))) * one_or_nan;
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const BfpPrimeLayout& layout = layout_of(setup);
  const Term placed = groups.places(signed_magnitudes(codes, layout.width));
  const SubBlocks blocks(placed, layout.sub_block_size);
  std::vector<double> steps, shifts;
  for (int e = BfpPrimeCodec::kLowestExponent; e <= BfpPrimeCodec::kHighestExponent; ++e)
    steps.push_back(std::ldexp(1, e - layout.magnitude_bits()));
  steps.push_back(formats::kNan);
  for (int d = 0; d <= layout.largest_shift(); ++d) shifts.push_back(std::ldexp(1, -d));
  // An empty tensor has no exponents.
  const Term any = min(blocks.count(), codes.body().integers({1}));
  const Term exponents = to_index(reshape(fields[0], concat({blocks.others(), any})));
  const Term shift = to_index(reshape(fields[1], concat({blocks.others(), blocks.count()})));
  const Term step = look_up(steps, exponents) * look_up(shifts, shift);
  const Term values = to_double(blocks.split(placed, codes.body().single(0)));
  return groups.from_places(blocks.join(to_single(values * step)));
}

}  // namespace

std::span<const Descriptor> bfp_prime_descriptors() {
  static const Descriptor all[] = {{.family = "bfp_prime", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
