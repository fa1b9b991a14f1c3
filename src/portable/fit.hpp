// The shared exponent of block floating point, and rounding to sign and fraction of 2^E.
#pragma once

#include "formats/rounding.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

// 2^E for the smallest E at which the magnitude, rounded to a multiple of 2^(E - bits), is at most 2^bits - 1
// of them. For magnitudes below 2^(lowest + 1) it is 2^(lowest + 1) or 2^(lowest + 2).
Term fitting_power(const Term& magnitude, int bits, int lowest);

// Rounds finite x to the nearest multiple of power / 2^bits and saturates at ±(2^bits - 1) of them. The sign
// of a zero is unspecified.
Term to_fraction(const Term& x, int bits, const Term& power, formats::Rounding rounding);

}  // namespace anybit::portable
