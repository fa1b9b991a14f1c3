// The rules of formats::mase in ONNX operators. Values are float64, sums that MASE rounds are float32.
#pragma once

#include "formats/mase.hpp"
#include "portable/formula.hpp"

namespace anybit::portable::mase {

// 2^e for the float32 nearest to log2(a), rounded to an integer: e is at least `lowest` and at most
// `highest`.
struct Exponents {
  int lowest = 0, highest = 0;
};
Term floor_power(const Term& a, Exponents range);
Term ceil_power(const Term& a, Exponents range);
Term nearest_power(const Term& a, Exponents range);

// x + a number, rounded to float32.
Term sum(const Term& x, const Term& number);

// The magnitude of the minifloat for a magnitude, at a power of two that is the lowest one or a higher one.
Term minifloat(const Term& magnitude, const Term& power, const Term& lowest, int mantissa_bits);

// The magnitude with the sign of x, where zero is positive; must be the last step. `pass`: tiny x stay.
Term with_sign(const Term& x, const Term& magnitude);
Term pass(const Term& x, const Term& magnitude);

}  // namespace anybit::portable::mase
