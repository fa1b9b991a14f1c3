// Shared microexponents: multiples of 2^(E - d - bits), with E from the maximum of the block and d from that
// of each pair.
#include "formats/shared_micro.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/fit.hpp"
#include "portable/numbers.hpp"
#include "portable/sub_blocks.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::SharedMicroCodec;

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const int bits = dynamic_cast<const SharedMicroCodec&>(setup.codec).magnitude_bits();
  const Term placed = groups.places(x);
  const SubBlocks pairs(placed, 2);
  const Term paired = pairs.split(placed, x.body().real(0)), numbers = finite(paired);
  const Term magnitudes = abs(numbers);
  const auto half = [&](std::int64_t i) { return gather(magnitudes, x.body().integer(i)); };
  const Term largest_of_pair = max(half(0), half(1));
  // ReduceMax of an empty group is not 0.
  const Term largest = max(reduce("ReduceMax", largest_of_pair, {SubBlocks::kPlace}), 0);
  const Term power = clip(fitting_power(largest, bits, SharedMicroCodec::kLowestExponent - 2),
                          std::ldexp(1, SharedMicroCodec::kLowestExponent),
                          std::ldexp(1, SharedMicroCodec::kHighestExponent));
  const Term finer = less(fitting_power(largest_of_pair, bits, -149), power);
  const Term own = where(finer, power * 0.5, power);
  const Term result = limited(to_fraction(numbers, bits, own, setup.rounding));
  return groups.from_places(pairs.join(with_sign_of(paired, result)));
}

// 1 or ½ per pair, from bits packed into bytes along the last axis: [a, groups, b, pairs].
Term factors_of(const Term& field, const SubBlocks& pairs) {
  FunctionBody& body = field.body();
  const Term bits = unpack(field, 1, slice(shape(field), -1, FunctionBody::kEnd) * body.integers({8}));
  // Drops the padding bits of each row.
  const Term factors = look_up(std::vector<float>{1, 0.5f}, bits);
  const Term rows = slice(factors, 1, body.integers({0}), pairs.count());
  return reshape(rows, concat({pairs.others(), pairs.count()}));
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const int bits = dynamic_cast<const SharedMicroCodec&>(setup.codec).magnitude_bits();
  const Term placed = groups.places(signed_magnitudes(codes, 1 + bits));
  const SubBlocks pairs(placed, 2);
  std::vector<float> steps;
  for (int e = SharedMicroCodec::kLowestExponent; e <= SharedMicroCodec::kHighestExponent; ++e)
    steps.push_back(formats::power_of_two(e - bits));
  // An empty tensor has no exponents.
  const Term any = min(pairs.count(), codes.body().integers({1}));
  const Term exponents = reshape(fields[0], concat({pairs.others(), any}));
  const Term step = look_up(steps, to_index(exponents)) * factors_of(fields[1], pairs);
  return groups.from_places(pairs.join(pairs.split(placed, codes.body().single(0)) * step));
}

}  // namespace

std::span<const Descriptor> shared_micro_descriptors() {
  static const Descriptor all[] = {{.family = "shared_micro", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
