// The shared exponent of block floating point, and elements that are a sign and a fraction of 2^E.
#pragma once

#include "formats/rounding.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

// 2^E for the smallest E at which a magnitude, rounded to a multiple of 2^(E - bits), is one of the first
// 2^bits - 1 of them. For magnitudes below 2^(lowest + 1) it is 2^(lowest + 1) or 2^(lowest + 2).
Term fitting_power(const Term& magnitude, int bits, int lowest);

// x, which is finite, to the nearest multiple of power / 2^bits, of which there are 2^bits - 1 on each side.
// Zero has whatever sign.
Term to_fraction(const Term& x, int bits, const Term& power, formats::Rounding rounding);

}  // namespace anybit::portable
