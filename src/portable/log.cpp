// Logarithmic: the power of two whose logarithm is nearest.
#include "formats/log.hpp"

#include <cmath>

#include "formats/mase_codec.hpp"
#include "portable/codes.hpp"
#include "portable/mase.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::LogCodec;
using formats::LogLayout;

Term quantize_as_mase(const LogLayout& layout, const Term& x) {
  const Term numbers = finite(x), offset = x.body().real(formats::mase::log_offset(layout.bias));
  const Term magnitude = mase::nearest_power(mase::sum(abs(numbers), offset),
                                             {layout.lowest_exponent(), layout.highest_exponent()});
  return x.body().op("Sign", {mase::sum(numbers, offset)}) * magnitude;
}

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  const LogLayout& layout = formats::base_of<LogCodec>(setup.codec).layout();
  if (formats::is_mase(setup.codec)) return quantize_as_mase(layout, x);
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
