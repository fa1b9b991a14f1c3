// Logarithmic: the power of two whose logarithm is nearest.
#include "formats/log.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::LogCodec;
using formats::LogLayout;

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  const LogLayout& layout = dynamic_cast<const LogCodec&>(setup.codec).layout();
  const int lowest = layout.lowest_exponent(), highest = layout.highest_exponent();
  const Term numbers = finite(x), a = abs(numbers);
  const Term magnitude = min(nearest_power(a, lowest), std::ldexp(1, highest));
  if (!layout.with_zero) return where(less(numbers, 0), -magnitude, magnitude);
  return with_sign_of(x, where(less(a, std::ldexp(1, -layout.bias)), 0, magnitude));
}

Term decode(const Setup& setup, const Groups&, const Term& codes, std::span<const Term>) {
  return look_up(numbers_of(setup.codec, {}), codes);
}

}  // namespace

std::span<const Descriptor> log_descriptors() {
  static const Descriptor all[] = {{.family = "log", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
