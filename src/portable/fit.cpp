#include "portable/fit.hpp"

#include <cmath>

#include "portable/numbers.hpp"

namespace anybit::portable {

Term fitting_power(const Term& magnitude, int bits, int lowest) {
  const Term below = power_below(magnitude, lowest);
  const Term carries = at_least(magnitude, below * (2 - std::ldexp(1, -bits)));
  return where(carries, below * 4, below * 2);
}

Term to_fraction(const Term& x, int bits, const Term& power, formats::Rounding rounding) {
  const Term step = power * std::ldexp(1, -bits);
  const double most = std::ldexp(1, bits) - 1;
  return clip(rounded(x / step, rounding), -most, most) * step;
}

}  // namespace anybit::portable
