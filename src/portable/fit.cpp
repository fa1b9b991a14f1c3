#include "portable/fit.hpp"

#include <cmath>

#include "portable/numbers.hpp"

namespace anybit::portable {

Value fitting_power(const Value& magnitude, int bits, int lowest) {
  const Value below = power_below(magnitude, lowest);
  const Value carries = at_least(magnitude, below * (2 - std::ldexp(1, -bits)));
  return where(carries, below * 4, below * 2);
}

Value to_fraction(const Value& x, int bits, const Value& power, formats::Rounding rounding) {
  const Value step = power * std::ldexp(1, -bits);
  const double most = std::ldexp(1, bits) - 1;
  return clip(rounded(x / step, rounding), -most, most) * step;
}

}  // namespace anybit::portable
