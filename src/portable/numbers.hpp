// What the formulas of number formats are made of. Values are float64, where a float32 times any power of two
// that occurs is exact: nothing underflows, and nothing is rounded twice.
#pragma once

#include "formats/minifloat.hpp"
#include "formats/rounding.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

// NaN becomes 0, infinity the largest float32.
Term finite(const Term& x);
// NaN and infinity become 0.
Term only_finite(const Term& x);

// 2^floor(log2 a) for 0 <= a, and at least 2^lowest.
Term power_below(const Term& a, int lowest);
// 2^round(log2 a), up from √2 on; at least 2^lowest.
Term nearest_power(const Term& a, int lowest);

Term rounded(const Term& t, formats::Rounding rounding);
// |result| with the sign of x, zeros of either sign among both; NaN is positive. To be done last, and by
// multiplication: what goes through Where may lose the sign of zero in ONNX Runtime.
Term with_sign_of(const Term& x, const Term& result);
Term sign_of(const Term& x);  // 1 or -1
// A result of -0 becomes 0.
Term without_negative_zero(const Term& result);
// Beyond float32: its largest. NaN stays.
Term limited(const Term& value);
// The same of a float32, where what is beyond is infinite; it must not be NaN. Zero keeps its sign.
Term limited_single(const Term& value);

// Scales of groups; those that have `nothing` but zeros get the largest scale of the others, or 1.
Term settled_scales(const Term& nothing, const Term& scales);

// The nearest number of the layout, too large ones being its largest; zero has whatever sign. x is finite.
Term to_minifloat(const Term& x, const formats::MinifloatLayout& layout, formats::Rounding rounding);
// The same without an end: magnitudes go on beyond the layout's largest.
Term to_unbounded_minifloat(const Term& x, const formats::MinifloatLayout& layout,
                            formats::Rounding rounding);

}  // namespace anybit::portable
